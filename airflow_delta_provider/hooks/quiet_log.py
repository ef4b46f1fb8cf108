"""Filter for Spark's lines in the task log: the parent hook has to parse each line, and echoes it."""

from __future__ import annotations

from typing import Any


class EchoDropper:
    """A logger that drops echoes of ``echo``, and repetitions of the last message with arguments."""

    echo: str | None = None

    def __init__(self, logger: Any) -> None:
        self.logger = logger
        self._last: tuple[Any, ...] = ()

    def info(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Log the message, unless it is the echo or a repetition."""
        if (args and (message, *args) == self._last) or (not args and message == self.echo):
            return
        self._last = (message, *args) if args else self._last
        self.logger.info(message, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.logger, name)
