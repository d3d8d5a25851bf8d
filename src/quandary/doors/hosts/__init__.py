"""Coding agents as hosts: their hooks, and what is installed for them."""
