"""Where people and programs come in."""
