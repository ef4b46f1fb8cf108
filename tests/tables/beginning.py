"""Tables that begin as others: what several have in common is built once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Builder = TypeVar("Builder", bound=Callable[..., None])


def beginning_as(first: Callable[..., None]) -> Callable[[Builder], Builder]:
    """Let a builder find a copy of the table of ``first`` where it is to build its own."""

    def begin(builder: Builder) -> Builder:
        vars(builder)["begins_as"] = first
        return builder

    return begin
