"""What a real engine did with a table when it was tried."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One try of an engine that is installed.

    :param engine: by the name of its profile
    :param version: None where it is not installed
    :param reads: whether it read the table; None where the try says nothing about that
    :param message: what the engine said, where it did not read
    """

    engine: str
    version: str | None
    reads: bool | None
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports."""
        return asdict(self)
