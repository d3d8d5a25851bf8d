"""What every door does, written once."""
