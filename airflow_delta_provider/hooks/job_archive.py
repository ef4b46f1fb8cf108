"""The code that a submission ships: one zip of what runs without Airflow; it is the command line in one file, too."""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
_SHIPPED = ("command_line", "domain", "jobs")
#: Earliest time that a zip can hold: the same sources give the same bytes, wherever they lie.
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_job_archive(destination: Path) -> None:
    """Write the zip; the same sources give the same bytes."""
    sources = [PACKAGE / "__init__.py", PACKAGE / "__main__.py"]
    sources += [path for folder in _SHIPPED for path in (PACKAGE / folder).rglob("*") if _is_shipped(path)]
    with zipfile.ZipFile(destination, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(sources):
            _add(archive, f"{PACKAGE.name}/{path.relative_to(PACKAGE).as_posix()}", path)
        _add(archive, "__main__.py", PACKAGE / "__main__.py")  # what Python runs of a zip


def _add(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.external_attr = 0o644 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, path.read_bytes())


def _is_shipped(path: Path) -> bool:
    """Whether a file is of the sources: everything but what Python compiles from them."""
    return path.is_file() and "__pycache__" not in path.parts
