"""The start of the command line beside ``deltalake``: CPU time of processes that each do little.

    python -m benchmarks.start_up

They print the version, or audit a table of four commits of ten files each. Python finds the package compiled, as an
installed one is; the single file has its own compiled modules. Prints medians of interleaved processes.
"""

from __future__ import annotations

import os
import statistics
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.protocol_logs import write_log
from benchmarks.without_jvm import OPEN, run
from scripts import dist

RUNS = 9
COMMITS = 4


def main() -> None:
    """Measure everything, and print it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYTHONPYCACHEPREFIX"] = str(Path(folder, "compiled"))
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        table, program = Path(folder, "table"), Path(folder, dist.NAMES[0])
        write_log(table, COMMITS)
        program.write_bytes(dist.content())
        module = ["-m", "airflow_delta_provider"]
        contenders = {
            "delta-provider --version": [*module, "--version"],
            "delta-provider audit": [*module, "audit", str(table)],
            "single file --version": [str(program), "--version"],
            "single file audit": [str(program), "audit", str(table)],
        }
        if find_spec("deltalake"):
            contenders["deltalake, opening"] = ["-c", OPEN, str(table)]
        for command in contenders.values():  # which compiles the package
            run(command)
        seconds: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(RUNS):
            for name, command in contenders.items():
                seconds[name].append(run(command).cpu)
    for name, spent in seconds.items():
        print(f"{name:26} {statistics.median(spent):5.2f} CPU s   ({min(spent):.2f} to {max(spent):.2f})")


if __name__ == "__main__":
    main()
