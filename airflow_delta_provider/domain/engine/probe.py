"""The result of trying a real engine on a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Probe:
    """One trial of an installed engine.

    :param engine: name of its profile
    :param version: its version; None if it is not installed
    :param reads: whether it read the table; None if the trial does not show that
    :param message: the engine's message, if it did not read the table
    """

    engine: str
    version: str | None
    reads: bool | None
    message: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)
