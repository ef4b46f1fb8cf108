"""Keeping Spark's lines out of the task log, though the parent hook has to parse and echo each."""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any


class EchoDropper(logging.LoggerAdapter[logging.Logger]):
    """Drops the record that merely repeats ``echo``; everything else that is logged stays."""

    echo: str | None = None

    def log(self, level: int, msg: object, *args: Any, **kwargs: Any) -> None:
        """Log, unless it is the echo."""
        if args or msg != self.echo:
            super().log(level, msg, *args, **kwargs)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Pass everything on as it is."""
        return msg, kwargs
