"""What the person who watches gets to see."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

_INDENT = "     "
_WIDTH = 108
_BOLD, _GREEN, _RED, _DIM, _PLAIN = "\033[1m", "\033[32m", "\033[31m", "\033[2m", "\033[0m"


class Screen:
    """Writes to the terminal; everything else that this process and its children print goes to a file.

    A context manager: the JVM writes to the very file descriptors, so they are turned over meanwhile.

    :param log: the file
    :param steps: how many steps there will be
    """

    def __init__(self, log: Path, steps: int) -> None:
        self._log = log
        self._steps = steps
        self._step = 0
        self._started = self._step_started = time.monotonic()
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace", buffering=1)
        self._colour = self._out.isatty() and "NO_COLOR" not in os.environ

    def __enter__(self) -> Screen:
        sys.stdout.flush()
        sys.stderr.flush()
        self._saved = os.dup(1), os.dup(2)
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        for descriptor, saved in zip((1, 2), self._saved):
            os.dup2(saved, descriptor)
            os.close(saved)

    @property
    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self._started

    def title(self, text: str) -> None:
        """Write the first line."""
        self._write(self._in(_BOLD, text))

    def step(self, text: str) -> None:
        """Begin a step."""
        self._step += 1
        self._step_started = time.monotonic()
        self._write("")
        self._write(self._in(_BOLD, f"{self._step}/{self._steps}  {text}"))

    def say(self, *sentences: str) -> None:
        """Write a paragraph."""
        for line in textwrap.wrap(" ".join(sentences), _WIDTH):
            self._write(f"{_INDENT}{line}")

    def show(self, text: str) -> None:
        """Write what somebody else said, set off by a bar."""
        for paragraph in text.splitlines():
            for line in textwrap.wrap(paragraph, _WIDTH - 4) or [""]:
                self._write(f"{_INDENT}{self._in(_DIM, '│')} {line}")

    def event(self, text: str) -> None:
        """Write what just happened, with the seconds since the step began."""
        at = f"{time.monotonic() - self._step_started:5.1f} s"
        first, *more = textwrap.wrap(text, _WIDTH - len(at) - 2)
        self._write(f"{_INDENT}{self._in(_DIM, at)}  {first}")
        for line in more:
            self._write(f"{_INDENT}{' ' * len(at)}  {line}")

    def rows(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table; columns as wide as they have to be, the last one broken into lines."""
        widths = [max(len(row[i]) for row in (header, *rows)) + 2 for i in range(len(header) - 1)]
        room = _WIDTH - sum(widths)
        for row in (header, *rows):
            first, *more = textwrap.wrap(row[-1], room) or [""]
            line = "".join(cell.ljust(width) for cell, width in zip(row, widths)) + first
            self._write(f"{_INDENT}{self._in(_DIM, line) if row is header else line}")
            for rest in more:
                self._write(f"{_INDENT}{' ' * sum(widths)}{rest}")

    def verdict(self, claim: str, *, holds: bool) -> None:
        """Write a claim that was checked."""
        mark = self._in(_GREEN, "✓") if holds else self._in(_RED, "✗ NOT TRUE:")
        self._write(f"{_INDENT}{mark} {claim}")

    def end(self, text: str, *, good: bool) -> None:
        """Write the last line."""
        self._write("")
        self._write(self._in(_GREEN if good else _RED, text))

    def _in(self, style: str, text: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._colour else text

    def _write(self, line: str) -> None:
        self._out.write(f"{line}\n")
