"""Keeping Spark's lines out of the task log, though the parent hook has to parse and echo each."""

from __future__ import annotations

from typing import Any


class EchoDropper:
    """A logger that drops the message that merely repeats ``echo``; everything else passes."""

    echo: str | None = None

    def __init__(self, logger: Any) -> None:
        self.logger = logger

    def info(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Log, unless it is the echo."""
        if args or message != self.echo:
            self.logger.info(message, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.logger, name)
