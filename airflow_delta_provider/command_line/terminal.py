"""Output for people: the result on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType
from typing import Any, TextIO

from airflow_delta_provider.domain.report.report import TableReport
from airflow_delta_provider.domain.text import printed, shown_lines, visible_lines

PROGRAM = "delta-provider"


class Terminal:
    """Standard output and standard error of a run.

    :param quiet: True to show only the result and errors
    :param verbose: True to also show choices and their reasons
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose

    def result(self, text: Iterable[str]) -> bool:
        """Print the result.

        Return True if that was possible; a reader that has closed the pipe is not an error.

        :param text: the result, in parts
        """
        if sys.stdout is None:  # closed by the parent process
            return True
        try:
            sys.stdout.writelines(text)
            sys.stdout.flush()
        except OSError as error:
            # Python would write the rest of the buffer when it ends.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
            if isinstance(error, BrokenPipeError):
                return True
            self.error(f"the result could not be printed: {error.strerror}")
            return False
        return True

    def error(self, text: str, *lines: str) -> None:
        """Print the reason why something was not done."""
        self._print(f"{PROGRAM}: {text}", *lines)

    def problem(self, text: str) -> None:
        """Print problems next to a result for a program."""
        self._print(text)

    def note(self, text: str) -> None:
        """Print a note, unless the run is quiet."""
        if not self.quiet:
            self._print(text)

    def detail(self, text: str) -> None:
        """Print a detail if the run is verbose."""
        if self.verbose:
            self._print(f"{PROGRAM}: {text}")

    def _print(self, *texts: str) -> None:
        if sys.stderr is not None:
            shown = (line for text in texts for line in visible_lines(text))
            with suppress(OSError, ValueError):  # no reader
                print(*printed(shown), sep="\n", file=sys.stderr, flush=True)


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def wants_colour(stream: TextIO | None) -> bool:
    """Return True if output to a stream may have colours, see https://no-color.org."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (is_terminal(stream) and os.environ.get("TERM") != "dumb")


#: Seconds before a bar is shown.
_PATIENCE = 1.0


class ProgressBar:
    """Shows the lines of a job, and counts its tables; used as a context manager.

    :param total: number of tables
    """

    def __init__(self, total: int, terminal: Terminal) -> None:
        self._total = total
        self._terminal = terminal
        self._done = 0
        self._bar: Any = None
        self._one = threading.Lock()
        self._shown = not terminal.quiet and is_terminal(sys.stderr) and wants_colour(sys.stderr)
        self._timer: threading.Timer | None = None

    def __enter__(self) -> ProgressBar:
        if self._shown:
            self._timer = threading.Timer(_PATIENCE, self._start_late)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._one:
            self._shown = False
            if self._bar is not None:
                self._bar.stop()

    def __call__(self, line: str) -> None:
        with self._one:
            if self._bar is None:
                self._terminal.note(line)
            else:
                self._bar.console.print(shown_lines(line), markup=False, highlight=False, soft_wrap=True)

    def count(self, _: TableReport) -> None:
        with self._one:
            self._done += 1
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done)

    def _start_late(self) -> None:
        """Show the bar if the job still runs: also before its first table is done."""
        with self._one:
            if self._shown and self._bar is None:
                self._start()

    def _start(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )
        except ImportError:
            self._shown = False
            return
        self._bar = Progress(
            SpinnerColumn(),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tables"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.add_task("tables", total=self._total, completed=self._done)
        self._bar.start()
