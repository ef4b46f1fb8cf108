"""Installs and tries what ``matrix.toml`` declares: ``python -m scripts.matrix [--short] [NAME...]``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from scripts.matrix import results
from scripts.matrix.entries import Entry, NoInterpreterError, entries
from scripts.sample_blocks import CHECKOUT

_REPORTS = CHECKOUT / "build" / "matrix"


def main(arguments: list[str]) -> int:
    """Try the entries; return 1 if a test failed."""
    parser = argparse.ArgumentParser(prog="python -m scripts.matrix", description=__doc__)
    parser.add_argument("name", nargs="*", help="how the names of entries begin; default: all")
    parser.add_argument("--short", action="store_true", help="a few tests of a few entries, whose results are not kept")
    parsed = parser.parse_args(arguments)
    known = entries()
    chosen = [each for each in known if each.name.startswith(tuple(parsed.name or [""]))]
    failed = False
    for entry in chosen:
        if parsed.short and not entry.short:
            continue
        try:
            result = tried(entry, short=parsed.short)
        except NoInterpreterError as error:
            print(f"{entry.name}: not tried, {error}", flush=True)
            continue
        failed = failed or bool(result.failed) or not result.passed
        if not parsed.short:
            results.keep(result, [each.versions for each in known])
    return int(failed)


def tried(entry: Entry, *, short: bool) -> results.Result:
    """Install an entry and run its tests."""
    report = _REPORTS / f"{entry.name}.xml"
    report.unlink(missing_ok=True)
    began = time.monotonic()
    entry.install()
    installed = time.monotonic()
    command = [*entry.pytest(short=short), "--quiet", f"--junitxml={report}"]
    subprocess.run(command, check=False, cwd=CHECKOUT, env={**os.environ, "PYTHONPATH": str(CHECKOUT)})
    result = results.Result.of(entry.versions, report)
    print(
        f"{entry.name}: {result.passed} passed, {result.failed} failed, {len(result.refused)} refused; installed in "
        f"{installed - began:.0f} s, tried in {time.monotonic() - installed:.0f} s",
        flush=True,
    )
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
