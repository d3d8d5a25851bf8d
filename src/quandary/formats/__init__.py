"""Text in, nouns out, and back again."""
