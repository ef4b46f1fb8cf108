"""Keeping Spark's lines out of the task log, though the parent hook has to parse and echo each."""

from __future__ import annotations

from typing import Any


class EchoDropper:
    """A logger that drops the message that merely repeats ``echo``, and what it just said; everything else passes."""

    echo: str | None = None

    def __init__(self, logger: Any) -> None:
        self.logger = logger
        self._last: tuple[Any, ...] = ()

    def info(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Log, unless it is the echo, or says of a line what was said of one before."""
        if (args and (message, *args) == self._last) or (not args and message == self.echo):
            return
        self._last = (message, *args) if args else self._last
        self.logger.info(message, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.logger, name)
