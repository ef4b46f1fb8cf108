"""Output for people: the result on standard output, everything else on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import TextIO

from airflow_delta_provider.domain.visible import printed, visible_lines

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
