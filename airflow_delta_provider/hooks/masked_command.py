"""A command line as it may be logged: without what its settings keep secret.

The parent hook masks settings whose names say password or secret; object stores call theirs otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SECRET = re.compile(r"token|credential|(?:access|account|shared|private)[._-]?key|[._]sas[._]", re.IGNORECASE)


def masked(command: Iterable[str]) -> list[str]:
    """Return the words of a command; of a setting (``name=value``) with such a name, the name alone."""
    return [_masked(word) for word in command]


def _masked(word: str) -> str:
    name, equals, _ = word.partition("=")
    return f"{name}=******" if equals and _SECRET.search(name) else word
