"""Class data sharing: loading Spark's classes from an archive that an earlier run left (opt-in).

A driver for a short job spends most of its time loading classes. Java can write those it loaded to
an archive when it ends (some twenty seconds, once) and map it at the next start. An archive that
does not fit the Java or the jars is ignored by Java itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path


class ClassArchive:
    """
    The archive for one Java and one class path.

    :param folder: where archives are kept; made when needed
    :param class_path: folders and lists of jars that the driver loads from
    :param environment: environment of spark-submit
    """

    def __init__(self, folder: Path, class_path: Sequence[str], environment: Mapping[str, str]) -> None:
        home = environment.get("JAVA_HOME")
        java = f"{home}/bin/java" if home else shutil.which("java", path=environment.get("PATH")) or "java"
        files = [java, *":".join(class_path).split(":")]
        key = hashlib.sha256("\n".join(map(_identity, files)).encode()).hexdigest()[:16]
        self._folder = folder
        self._path = folder / f"classes-{key}.jsa"
        self._partial = folder / f".classes-{key}-{os.getpid()}.jsa"

    def java_option(self) -> str:
        """Return the option that uses the archive, or that writes it where there is none yet."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._path.exists():
            return f"-XX:SharedArchiveFile={self._path}"
        return f"-XX:ArchiveClassesAtExit={self._partial}"

    def keep(self) -> None:
        """Keep what the run wrote, whole or not at all; several that wrote at once leave the last."""
        if self._partial.exists():
            self._partial.replace(self._path)


def _identity(path: str) -> str:
    """Return what changes when the file does."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"
