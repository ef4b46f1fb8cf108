"""Entry point of ``delta-provider`` and ``python -m airflow_delta_provider``."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def _interrupted(_: int, __: FrameType | None) -> None:
    os.write(2, b"\ndelta-provider: interrupted\n")
    os._exit(130)


def start() -> NoReturn:
    """Run the command line, and exit. Ctrl-C also ends the imports without a traceback."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # ignored for example in a script's background jobs
        signal.signal(signal.SIGINT, _interrupted)
    from airflow_delta_provider.command_line.main import run  # takes a while

    run()


if __name__ == "__main__":
    start()
