"""The row ids that manifests assign to live files, and files with overlapping ids."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey


def id_range(file: DataFile) -> range | None:
    """Return the row ids that the manifest assigns to a file.

    None if the file stores them itself, or only has columns of other files' rows.
    """
    if file.first_row_id is None or not file.holds_rows:
        return None
    return range(file.first_row_id, file.first_row_id + file.row_count)


def joined(ranges: Iterable[range]) -> list[range]:
    """Return ranges of row ids in order; adjacent and overlapping ranges are joined."""
    found: list[range] = []
    for ids in sorted((ids for ids in ranges if ids), key=lambda ids: ids.start):
        if found and ids.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(ids.stop, found[-1].stop))
        else:
            found.append(ids)
    return found


def range_texts(ranges: Iterable[range]) -> list[str]:
    """Return ranges of row ids as strings; adjacent and overlapping ranges are joined."""
    return [str(ids.start) if len(ids) == 1 else f"{ids.start}-{ids.stop - 1}" for ids in joined(ranges)]


class IdRanges:
    """The row id ranges of live files, by their start."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._by_start: dict[int, dict[FileKey, DataFile]] = {}

    def replace(self, files: Iterable[DataFile]) -> None:
        """Replace all files."""
        self._by_start = {}
        for file in files:
            if ids := id_range(file):
                self._by_start.setdefault(ids.start, {})[file.key] = file
        self._starts = sorted(self._by_start)

    def add(self, file: DataFile) -> None:
        if ids := id_range(file):
            if ids.start not in self._by_start:
                insort(self._starts, ids.start)
            self._by_start.setdefault(ids.start, {})[file.key] = file

    def remove(self, file: DataFile) -> None:
        if (ids := id_range(file)) and file.key in (here := self._by_start.get(ids.start, {})):
            del here[file.key]
            if not here:
                del self._by_start[ids.start]
                self._starts.pop(bisect_left(self._starts, ids.start))

    def clashes(self, file: DataFile, *, equal_allowed: bool) -> Iterator[DataFile]:
        """Yield files that share row ids with this one.

        :param equal_allowed: True if files may have exactly the same ids, as with data evolution
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
