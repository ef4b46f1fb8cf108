"""The command line as a process: signals and the exit code."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

from airflow_delta_provider.command_line.exit_code import ExitCode
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.command_line.terminal import PROGRAM, is_terminal
from airflow_delta_provider.jobs.process.garbage_collection import collect_seldom

_SHOW_CURSOR = "\x1b[?25h"


def run() -> NoReturn:
    """Run this process's command line, and exit."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # ignored for example in a script's background jobs
        signal.signal(signal.SIGINT, _interrupted)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for an encoding that lacks a character
    collect_seldom()
    sys.exit(main(sys.argv[1:]))


def _interrupted(_: int, __: FrameType | None) -> None:
    """Exit at once: files are written atomically, and threads may be waiting for a slow storage."""
    if is_terminal(sys.stderr):
        os.write(2, _SHOW_CURSOR.encode())
    os.write(2, f"\n{PROGRAM}: interrupted\n".encode())
    os._exit(ExitCode.INTERRUPTED)
