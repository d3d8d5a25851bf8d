"""A run retold: for a terminal, as a page, as a drawing, as logs."""
