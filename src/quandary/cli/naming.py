"""A SOURCE on a command line."""

from __future__ import annotations

import click


class OneSource(click.Command):
    """A command whose only argument is a SOURCE."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`-#NAME` is a SOURCE, though it looks like an option."""
        sources = [word for word in args if word.startswith("-#")]
        if sources and "--" not in args:
            args = [*(word for word in args if word not in sources), "--", *sources]
        return super().parse_args(ctx, args)
