"""`python -m quandary` is `quandary`."""

from quandary.cli import main

main()
