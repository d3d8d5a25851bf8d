"""What can be said of a question without anyone's help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from quandary.flows.places import Place
    from quandary.model.ask import Question
    from quandary.model.tree import Option


def explain(place: Place, question: Question, *, deep: bool, earlier: Sequence[str]) -> str:
    """The question, every option with its description, and (deep) what each leads to."""
    lines = [question.text, ""]
    for option in place.options:
        lines.append(_line(option))
        if deep:
            lines += [f"  {_line(child)}" for child in option.options]
        elif option.options:
            lines.append(f"  leads to: {', '.join(child.label for child in option.options)}")
    if deep and place.item.context:
        lines += ["", place.item.context]
    if deep and earlier:
        lines += ["", f"Chosen for other items so far: {'; '.join(earlier)}"]
    return "\n".join(lines)


def _line(option: Option) -> str:
    said = " ".join(option.description.split())
    return f"- [{option.code}] {option.label}" + (f": {said}" if said else "")
