"""Options that several commands have."""

from __future__ import annotations

import click

store_option = click.option(
    "--store", "where", metavar="PATH|URL", help="Where runs are kept (also QUANDARY_STORE)."
)
