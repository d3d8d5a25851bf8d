"""Hard work for a long time, on real processes and a real PostgreSQL: what `make stress` runs."""
