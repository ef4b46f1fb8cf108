"""``python -m demo``: exit code 0 only if everything that it says came true."""

from __future__ import annotations

import shutil
import signal
import sys
import traceback
from pathlib import Path

from demo.screen import Screen
from demo.story import STEPS, Story

CHECKOUT = Path(__file__).resolve().parent.parent
FOLDER = CHECKOUT / ".demo"
#: Where Delta's jars lie was found out by the first demo: it stays.
KEPT = "cache"


def main() -> int:
    """Tell the story in a fresh folder; return the exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logs = FOLDER / "logs"
    for left_over in FOLDER.glob("*"):
        if left_over.name != KEPT:
            shutil.rmtree(left_over) if left_over.is_dir() else left_over.unlink()
    logs.mkdir(parents=True)
    screen = Screen(logs / "spark.log", STEPS)
    where = f"What Spark and Airflow printed is in {logs.relative_to(CHECKOUT)}/."
    with screen:
        try:
            Story(screen, FOLDER, CHECKOUT / "dags_examples").tell()
        except KeyboardInterrupt:
            screen.end("Stopped.", good=False)
            return 130
        except Exception as error:
            traceback.print_exc()
            screen.end(f"The demo failed after {screen.seconds:.0f} s: {error}\n{where}", good=False)
            return 1
        screen.end(f"All of it came true, in {screen.seconds:.0f} s. {where}", good=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
