"""The nouns: no input or output, no imports from other rooms."""
