"""The browser: everything that waits for a person, on a page."""
