"""Writes the command line as one file that Python runs: the archive that submissions ship, made executable."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from airflow_delta_provider.hooks.workspace import write_job_archive

_SHEBANG = b"#!/usr/bin/env python3\n"
#: The same file under two names: spark-submit knows what is Python by the ending alone.
NAMES = ("delta-provider.pyz", "delta_provider.py")


def main(folder: str = "dist") -> None:
    """Write the files into a folder."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        (target / name).write_bytes(content())
        (target / name).chmod(0o755)
        print(target / name)


def content() -> bytes:
    """Return the file."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "jobs.zip"
        write_job_archive(archive)
        return _SHEBANG + archive.read_bytes()


if __name__ == "__main__":
    main(*sys.argv[1:])
