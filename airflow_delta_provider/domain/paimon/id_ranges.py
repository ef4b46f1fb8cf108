"""The row ids that manifests give to live files, and which files have the same."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey


def id_range(file: DataFile) -> range | None:
    """Return the row ids that the manifest gives a file; None if it stores them itself, or has columns alone."""
    if file.first_row_id is None or not file.holds_rows:
        return None
    return range(file.first_row_id, file.first_row_id + file.row_count)


def joined(ranges: Iterable[range]) -> list[range]:
    """Return ranges of row ids in order, as one where they meet."""
    found: list[range] = []
    for ids in sorted((ids for ids in ranges if ids), key=lambda ids: ids.start):
        if found and ids.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(ids.stop, found[-1].stop))
        else:
            found.append(ids)
    return found


def range_texts(ranges: Iterable[range]) -> list[str]:
    """Return ranges of row ids as text, joined where they meet."""
    return [str(ids.start) if len(ids) == 1 else f"{ids.start}-{ids.stop - 1}" for ids in joined(ranges)]


class IdRanges:
    """The ranges of live files, by their beginnings."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._by_start: dict[int, dict[FileKey, DataFile]] = {}

    def replace(self, files: Iterable[DataFile]) -> None:
        """Replace all files by these."""
        self._by_start = {}
        for file in files:
            if ids := id_range(file):
                self._by_start.setdefault(ids.start, {})[file.key] = file
        self._starts = sorted(self._by_start)

    def add(self, file: DataFile) -> None:
        """Add a file."""
        if ids := id_range(file):
            if ids.start not in self._by_start:
                insort(self._starts, ids.start)
            self._by_start.setdefault(ids.start, {})[file.key] = file

    def remove(self, file: DataFile) -> None:
        """Remove a file."""
        if (ids := id_range(file)) and file.key in (here := self._by_start.get(ids.start, {})):
            del here[file.key]
            if not here:
                del self._by_start[ids.start]
                self._starts.pop(bisect_left(self._starts, ids.start))

    def clashes(self, file: DataFile, *, equal_allowed: bool) -> Iterator[DataFile]:
        """Yield files that have some of the ids of this one.

        :param equal_allowed: whether files may have the very same ids, as with data evolution
        """
        ids = id_range(file)
        if not ids:
            return
        place = bisect_left(self._starts, ids.start)
        for index in range(max(place - 1, 0), len(self._starts)):
            start = self._starts[index]
            if start >= ids.stop:
                return
            for other in self._by_start[start].values():
                others = id_range(other) or range(0)
                if other.key != file.key and others.stop > ids.start and not (equal_allowed and others == ids):
                    yield other
