"""Numbers with what they count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counted_codes(codes: Iterable[str], most: int | None = None) -> str:
    """Return the codes of rules, the most frequent first, with how often each occurs.

    :param most: how many different ones are named
    """
    found = Counter(codes).most_common()
    named = [code if count == 1 else f"{code} ×{count:,}" for code, count in found[:most]]
    return ", ".join([*named, "…"] if len(named) < len(found) else named)


def shortened(text: str, limit: int) -> str:
    """Return ``text`` with at most ``limit`` characters."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
