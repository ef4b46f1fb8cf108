"""Logs that Delta Spark 4.0.0 wrote on Spark 4.0.1: commits and checksums of fourteen of the ``audit_stories``."""

from __future__ import annotations

import tarfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

_ARCHIVE = Path(__file__).with_name("logs.tar.gz")


def logs() -> Mapping[str, Mapping[str, bytes]]:
    """Return the contents of the files of each log, by their names."""
    found: dict[str, dict[str, bytes]] = defaultdict(dict)
    with tarfile.open(_ARCHIVE) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None:
                table, _, name = member.name.rpartition("/")
                found[table][name] = content.read()
    return found
