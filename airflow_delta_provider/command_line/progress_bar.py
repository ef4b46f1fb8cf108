"""Progress of a run: lines on standard error, or a bar if that is a terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Any

from airflow_delta_provider.command_line.terminal import Terminal, is_terminal, wants_colour
from airflow_delta_provider.domain.report.table_report import TableReport
from airflow_delta_provider.domain.visible import shown_lines

#: Seconds before a bar is shown.
_PATIENCE = 1.0


class ProgressBar:
    """Shows the lines of a job, and counts its tables; used as a context manager.

    :param total: number of tables
    """

    def __init__(self, total: int, terminal: Terminal) -> None:
        self._total = total
        self._terminal = terminal
        self._since = time.monotonic()
        self._done = 0
        self._bar: Any = None
        self._one = threading.Lock()
        self._shown = not terminal.quiet and is_terminal(sys.stderr) and wants_colour(sys.stderr)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
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
            if self._shown and self._bar is None and time.monotonic() - self._since > _PATIENCE:
                self._start()
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done)

    def _start(self) -> None:
        try:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
        except ImportError:
            self._shown = False
            return
        self._bar = Progress(
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("tables"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.add_task("tables", total=self._total)
        self._bar.start()
