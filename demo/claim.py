"""Claims of the demo: each is checked, and one that does not hold ends it."""

from __future__ import annotations

from textwrap import shorten

from demo.screen import Screen


class ClaimFailedError(Exception):
    """Something that the demo says did not come true."""


class Claims:
    """Shows each claim with what came of it."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def check(self, claim: str, holds: bool, seen: object = None) -> None:
        """Show a claim, and stop if it does not hold.

        :param seen: what was seen instead, for the message
        :raises ClaimFailedError: if it does not hold
        """
        self._screen.verdict(claim, holds=holds)
        if not holds:
            raise ClaimFailedError(f"{claim}; seen: {shorten(repr(seen), 400)}")
