"""Writes the command line as one file that Python runs: the archive that submissions ship, made executable.

Each module is in it as source, and compiled by the Python that runs this script. Other versions of Python ignore the
compiled modules, and compile the sources at each start.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from airflow_delta_provider.hooks.workspace import write_job_archive

_SHEBANG = b"#!/usr/bin/env python3\n"
#: The same file under two names: spark-submit knows what is Python by the ending alone.
NAMES = ("delta-provider.pyz", "delta_provider.py")
#: Checksums of all files, for ``sha256sum --check``.
SUMS = "SHA256SUMS"


def main(folder: str = "dist") -> None:
    """Write the files into a folder."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    whole = content()
    for name in NAMES:
        (target / name).write_bytes(whole)
        (target / name).chmod(0o755)
        print(target / name)
    (target / SUMS).write_text("".join(_sums(target)), encoding="utf-8")
    print(target / SUMS)


def _sums(folder: Path) -> Iterator[str]:
    """Yield the lines of ``sha256sum`` for the files of a folder."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != SUMS:
            yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"


def content() -> bytes:
    """Return the file."""
    with TemporaryDirectory() as folder:
        archive, sources = Path(folder, "jobs.zip"), Path(folder, "sources")
        write_job_archive(archive)
        with ZipFile(archive, "a") as opened:
            opened.extractall(sources)
            _compile(sources)
            for source in [entry for entry in opened.infolist() if entry.filename.endswith(".py")]:
                compiled = ZipInfo(f"{source.filename}c", source.date_time)
                compiled.external_attr, compiled.compress_type = source.external_attr, ZIP_DEFLATED
                opened.writestr(compiled, (sources / compiled.filename).read_bytes())
        return _SHEBANG + archive.read_bytes()


def _compile(folder: Path) -> None:
    """Compile all modules in a folder, each beside its source, which Python does not compare with it.

    In a process of its own: the bytes depend on the strings that the process has seen before.
    """
    command = [sys.executable, "-m", "compileall", "-qb", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(folder), str(folder)], check=True, env={**os.environ, "PYTHONHASHSEED": "0"})


if __name__ == "__main__":
    main(*sys.argv[1:])
