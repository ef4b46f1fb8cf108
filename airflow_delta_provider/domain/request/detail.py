"""What the detail of tables may be asked for: nothing besides the tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class DetailOptions:
    """Say what tables are."""

    kind: ClassVar[str] = "detail"
