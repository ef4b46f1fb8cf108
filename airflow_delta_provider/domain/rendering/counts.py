"""Numbers with their nouns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counted_codes(codes: Iterable[str], most: int | None = None) -> str:
    """Return rule codes with their frequencies, most frequent first.

    :param most: maximum number of different codes; None for all
    """
    found = Counter(codes).most_common()
    named = [code if count == 1 else f"{code} ×{count:,}" for code, count in found[:most]]
    return ", ".join([*named, "…"] if len(named) < len(found) else named)


def shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
