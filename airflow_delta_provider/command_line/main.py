"""The command line: finds a command, parses its arguments, runs it and returns the exit code."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from io import TextIOWrapper
from types import FrameType
from typing import NoReturn

from airflow_delta_provider.command_line import parser
from airflow_delta_provider.command_line.exit_code import ExitCode, UsageError
from airflow_delta_provider.command_line.terminal import PROGRAM, Terminal, is_terminal
from airflow_delta_provider.domain.request.kinds import Kind
from airflow_delta_provider.domain.text import did_you_mean
from airflow_delta_provider.jobs.process import collect_seldom


def main(arguments: Sequence[str], *, as_jobs: bool = False) -> int:
    """Run a command line and return its exit code.

    :param as_jobs: True for ``python -m airflow_delta_provider.jobs``, with its defaults
    :raises SystemExit: with 2 if argparse finds an error, with 0 after ``--help`` and ``--version``
    """
    terminal = Terminal()
    try:
        return _run(list(arguments), terminal, as_jobs=as_jobs)
    except UsageError as error:
        terminal.error(str(error))
        return ExitCode.USAGE
    except Exception as error:
        terminal.error(f"unexpected {type(error).__name__}: {error}. Report it: this is a bug.", *_traceback(arguments))
        return ExitCode.FAULT
    except KeyboardInterrupt:  # Spark's own handler raises it
        terminal.error("interrupted")
        return ExitCode.INTERRUPTED


def _traceback(arguments: Sequence[str]) -> list[str]:
    """Return the traceback of the current error if ``--verbose`` is given."""
    if not {"-v", "--verbose"} & set(arguments):
        return []
    import traceback  # slow to import

    return [traceback.format_exc()]


def _run(words: list[str], terminal: Terminal, *, as_jobs: bool) -> int:
    if not words:
        parser.whole_parser().print_help(sys.stderr)
        return ExitCode.USAGE
    command = words[0]
    if command.startswith("-"):
        parser.whole_parser().parse_args([command])
        raise UsageError(f"name a command before {command}: {', '.join(parser.names())}.")
    if command in parser.RULE_COMMANDS:
        return _run_rules(command, words[1:], terminal)
    if command in parser.DEMO_COMMANDS:
        from airflow_delta_provider.command_line.demo import run_demo  # late: others need none of it

        return run_demo(words[1:], terminal)
    if command in parser.REPORT_COMMANDS:
        from airflow_delta_provider.command_line.output import run_show  # late: others need none of it

        return run_show(words[1:], terminal)
    if command in parser.FILE_COMMANDS:
        from airflow_delta_provider.command_line.check_files import run_check_files  # late: others need none of it

        return run_check_files(words[1:])
    if command in parser.IMAGE_COMMANDS:
        from airflow_delta_provider.command_line.warm_up import run_warm_up  # late: it imports Airflow

        return run_warm_up(words[1:], terminal)
    kind: Kind | None = parser.kind_of(command)
    if kind is None:
        known = parser.names()
        raise UsageError(
            f"there is no command {command!r}.{did_you_mean(command, known)} Commands: {', '.join(known)}."
        )
    from airflow_delta_provider.command_line.table_command import run_table_command  # late: others need no rules

    return run_table_command(command, kind, words[1:], as_jobs=as_jobs)


def _run_rules(command: str, words: Sequence[str], terminal: Terminal) -> int:
    from airflow_delta_provider.command_line import rules  # late: other commands need none of it

    parsed = parser.rules_parser(command).parse_args(words)
    if command == "explain":
        shown = rules.explain(parsed.rules, parsed.format)
    else:
        shown = rules.list_rules(parsed.family, parsed.severity, parsed.format)
    return ExitCode.OK if terminal.result([shown]) else ExitCode.FAULT


#: Seconds that the main thread has to end by itself after Ctrl-C.
_PATIENCE = 2.0
_SHOW_CURSOR = "\x1b[?25h"
_RENAMED = (
    "python -m airflow_delta_provider.jobs is now delta-provider, and the next release removes the former name. Run "
    "`delta-provider` with the same arguments and --engine spark --no-config; --exit-zero ignores findings."
)


def run(*, as_jobs: bool = False) -> NoReturn:
    """Run this process's command line, and exit.

    :param as_jobs: True for ``python -m airflow_delta_provider.jobs``, with its defaults and exit codes
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # ignored for example in a script's background jobs
        signal.signal(signal.SIGINT, _interrupted)
        _exit_soon_after_interrupt()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for an encoding that lacks a character
    if "_ARGCOMPLETE" in os.environ:
        from airflow_delta_provider.command_line.completion import complete  # late: only shells ask for it

        complete()
    collect_seldom()
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # mimalloc holds a fifth more, and takes longer
    if as_jobs:
        Terminal().note(_RENAMED)
    code = main(sys.argv[1:], as_jobs=as_jobs)
    gc.freeze()  # or Python searches all objects for cycles at exit: an eighth of the time of a small audit
    sys.exit(1 if as_jobs and code == ExitCode.FAULT else code)


def _exit_soon_after_interrupt() -> None:
    """Let a thread end the process if the main thread cannot: it may wait in a library, or for Spark's JVM."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

    def watch() -> None:
        while signal.SIGINT not in os.read(reader, 64):
            pass
        time.sleep(_PATIENCE)
        _interrupted(signal.SIGINT, None)

    threading.Thread(target=watch, name="interrupt", daemon=True).start()


def _interrupted(_: int, __: FrameType | None) -> None:
    """Exit at once: files are written atomically, and threads may be waiting for a slow storage."""
    if is_terminal(sys.stderr):
        os.write(2, _SHOW_CURSOR.encode())
    os.write(2, f"\n{PROGRAM}: interrupted\n".encode())
    os._exit(ExitCode.INTERRUPTED)
