"""The files of a checkpoint in about 100 bytes each: a table may have millions.

A :class:`PackedFiles` holds columns instead of objects. Its views are mappings by file key that also take the changes
of later commits, with the order of a dict.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, MutableMapping, Sequence, ValuesView
from functools import partial
from itertools import accumulate, chain, islice, pairwise, repeat
from operator import sub, xor
from typing import Any, Generic, NamedTuple, TypeVar

from airflow_delta_provider.domain.delta.commit import check_actions, read_actions
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError, DeletionVector
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile
from airflow_delta_provider.domain.delta.log_files import is_any_odd, is_odd
from airflow_delta_provider.domain.delta.parsed_fields import PARSED_COUNT
from airflow_delta_provider.domain.delta.snapshot import ActionBatch, digests_of, file_keys

#: Number of files up to which a dict is small enough; it is faster.
FEW = 10_000
#: Stands for None among 64-bit integers.
_NONE = -(1 << 63)
#: Files that are unpacked at once.
_AT_ONCE = 8192
#: Bytes with which odd paths may begin.
_ODD_FIRST = frozenset(b"./")
_make_file: Callable[[Iterable[Any]], LiveFile] = partial(tuple.__new__, LiveFile)

V = TypeVar("V")


class NotPackedError(Exception):
    """Files with a number that cannot be packed."""


class FileColumns(NamedTuple):
    """Some live files, as columns.

    :param may_be_odd: False if no path is odd; see :func:`~airflow_delta_provider.domain.delta.log_files.is_odd`
    :param vectors: deletion vectors of the files that have one
    :param files: returns the files themselves
    """

    may_be_odd: bool
    sizes: Iterable[Any]
    vectors: Sequence[DeletionVector]
    files: Callable[[], Iterable[LiveFile]]


def hash_of(key: FileKey) -> int:
    """Return the hash of a file's key."""
    path, vector = key
    return hash(path) ^ hash(vector)


def hash_sum(files: Iterable[FileKey]) -> int:
    """Return the sum of :func:`hash_of` of files."""
    return files.hash_sum() if isinstance(files, FileView) else sum(map(hash_of, files))


def columns_of(files: Iterable[LiveFile]) -> Iterator[FileColumns]:
    """Yield live files as columns, some thousand at a time."""
    if isinstance(files, _Values) and isinstance(files.view, FileView):
        return files.view.columns()
    return _transposed(files)


def _transposed(files: Iterable[LiveFile]) -> Iterator[FileColumns]:
    left = iter(files)
    while some := tuple(islice(left, _AT_ONCE)):
        paths, sizes, _, _, _, vectors, _ = zip(*some)
        yield FileColumns(is_any_odd(paths), sizes, tuple(filter(None, vectors)), some.__iter__)


class _Integers:
    """A column of integers of 64 bits, or None. A column of only None takes no space."""

    def __init__(self) -> None:
        self._values: array[int] | None = None
        self._count = 0
        self._has_none = False

    def extend(self, values: Sequence[int | None] | None, count: int) -> None:
        """Append values; None stands for ``count`` times None.

        :raises NotPackedError: if one is not such an integer
        """
        if values is None:
            self._has_none = True
            if self._values is not None:
                self._values.extend(repeat(_NONE, count))
        else:
            kinds = set(map(type, values))
            if not kinds <= {int, type(None)}:
                raise NotPackedError("a value is not an integer")
            if self._values is None:
                self._values = array("q", repeat(_NONE, self._count))
            if _NONE in values:
                raise NotPackedError("a value stands for None")
            if type(None) in kinds:
                self._has_none = True
                values = [_NONE if value is None else value for value in values]
            try:
                self._values.extend(values)  # type: ignore[arg-type]  # None was replaced
            except OverflowError:
                raise NotPackedError("a value has more than 64 bits") from None
        self._count += count

    def __getitem__(self, row: int) -> int | None:
        value = _NONE if self._values is None else self._values[row]
        return None if value == _NONE else value

    def between(self, start: int, end: int) -> Iterable[int | None]:
        if self._values is None:
            return repeat(None, end - start)
        values = self._values[start:end]
        return [None if value == _NONE else value for value in values] if self._has_none else values


class PackedFiles:
    """The files that the ``add`` and ``remove`` actions of a checkpoint name, in the order of the actions.

    :param live: True to keep the values of :class:`LiveFile`
    :param digests: True to keep digests of ``add`` actions, and the deletion timestamps of ``remove`` actions
    """

    def __init__(self, *, live: bool = False, digests: bool = False) -> None:
        self._live = live
        self._with_digests = digests
        self._paths = bytearray()
        self._ends = array("Q", (0,))
        self.hashes = array("q")
        """:func:`hash_of` of each file."""
        self._ids: dict[int, str] = {}
        self._vectors: dict[int, DeletionVector] = {}
        self._is_removed = bytearray()
        self._sizes, self._base_ids, self._versions, self._counts = (_Integers() for _ in range(4))
        self._digests = array("Q")
        self._deleted: dict[int, int | None] = {}
        self._table: array[int] | None = None
        self._twice: list[int] = []

    def __len__(self) -> int:
        return len(self.hashes)

    def take(self, batch: ActionBatch) -> None:
        """Take ``add`` or ``remove`` actions.

        :raises MalformedActionError: if one is malformed, and values of files are kept
        :raises KeyError: if one lacks a field that its kind requires; TypeError, ValueError and AttributeError likewise
        :raises NotPackedError: if a number cannot be packed
        """
        is_add = batch.kind == "add"
        try:
            paths, ids = file_keys(batch)
        except (KeyError, TypeError, ValueError, AttributeError):
            if self._live and is_add:
                check_actions(batch.actions())
            raise
        start, count = len(self), batch.count
        if self._live:
            self._take_values(batch if is_add else None, start, count)
        if self._with_digests:
            self._take_digests(batch, is_add, start, count)
        text = "".join(paths)
        if text.isascii():
            ends: Iterable[int] = accumulate(map(len, paths), initial=self._ends[-1])
            self._paths += text.encode()
        else:
            encoded = [path.encode(errors="surrogatepass") for path in paths]
            ends = accumulate(map(len, encoded), initial=self._ends[-1])
            self._paths += b"".join(encoded)
        self._ends.pop()
        self._ends.extend(ends)
        if ids is None:
            self.hashes.extend(map(hash, paths))
        else:
            self.hashes.extend(map(xor, map(hash, paths), map(hash, ids)))
            self._ids.update((row, found) for row, found in enumerate(ids, start) if found)
        self._is_removed += bytes(count) if is_add else b"\1" * count
        self._table = None

    def _take_values(self, batch: ActionBatch | None, start: int, count: int) -> None:
        """Append the values of added files, or None for removed files."""
        columns: Sequence[Any] = [None] * 4
        found: list[tuple[int, DeletionVector]] = []
        if batch is not None:
            columns = _values_of(batch) or []
            if not columns:
                files: Sequence[LiveFile] = [value for _, value in read_actions(batch.actions())]
                columns = list(zip(*files))[1:5]
                found = [(row, file.deletion_vector) for row, file in enumerate(files, start) if file.deletion_vector]
            elif (vectors := batch.column("deletionVector")) is not None:
                try:
                    found = [(row, DeletionVector.from_json(body)) for row, body in enumerate(vectors, start) if body]
                except BrokenDeletionVectorError:
                    check_actions(batch.actions())
                    raise
            self._vectors.update(found)
        for kept, values in zip((self._sizes, self._base_ids, self._versions, self._counts), columns):
            kept.extend(values, count)

    def _take_digests(self, batch: ActionBatch, is_add: bool, start: int, count: int) -> None:
        if is_add:
            self._digests.extend(digests_of(batch))
            return
        self._digests.extend(repeat(0, count))
        times = batch.column("deletionTimestamp")
        self._deleted.update(zip(range(start, start + count), repeat(None) if times is None else times))

    @property
    def twice(self) -> list[int]:
        """The rows of files that an earlier row also has."""
        self._index()
        return self._twice

    def key(self, row: int) -> FileKey:
        """Return the key of a file."""
        return self._path(row), self._ids.get(row, "")

    def _path(self, row: int) -> str:
        return self._paths[self._ends[row] : self._ends[row + 1]].decode(errors="surrogatepass")

    def find(self, key: FileKey) -> int:
        """Return the row of a file; -1 if it is not there."""
        table = self._index()
        number, mask = hash_of(key), len(table) - 1
        slot = number & mask
        while row := table[slot]:
            if self.hashes[row - 1] == number and self.key(row - 1) == key:
                return row - 1
            slot = slot + 1 & mask
        return -1

    def __contains__(self, key: object) -> bool:
        return self.find(key) >= 0  # type: ignore[arg-type]

    def _index(self) -> array[int]:
        """Return a hash table of rows, counted from 1, with open addressing."""
        if self._table is None:
            hashes = self.hashes
            size = 1 << (len(hashes) * 3 // 2).bit_length()
            table, mask = array("I", bytes(4 * size)), size - 1
            for row, number in enumerate(hashes, start=1):
                slot = number & mask
                while there := table[slot]:
                    if hashes[there - 1] == number and self.key(there - 1) == self.key(row - 1):
                        self._twice.append(row - 1)
                        break
                    slot = slot + 1 & mask
                else:
                    table[slot] = row
            self._table = table
        return self._table

    def count(self, *, removed: bool) -> int:
        """Return the number of added or of removed files."""
        return self._is_removed.count(int(removed))

    def is_removed(self, row: int) -> bool:
        return bool(self._is_removed[row])

    def paths(self, start: int, end: int) -> list[str]:
        """Return the paths of rows."""
        ends = self._ends[start : end + 1]
        first = ends[0]
        content = self._paths[first : ends[-1]]
        if content.isascii():
            text = content.decode()
            return [text[begin - first : stop - first] for begin, stop in pairwise(ends)]
        return [content[begin - first : stop - first].decode(errors="surrogatepass") for begin, stop in pairwise(ends)]

    def keys(self, start: int, end: int) -> Iterable[FileKey]:
        """Return the keys of rows."""
        ids = map(self._ids.get, range(start, end), repeat("")) if self._ids else repeat("")
        return zip(self.paths(start, end), ids)

    def file(self, row: int) -> LiveFile:
        """Return an added file."""
        numbers = self._sizes[row], self._base_ids[row], self._versions[row], self._counts[row]
        return _make_file((self._path(row), *numbers, self._vectors.get(row), True))

    def files(self, start: int, end: int) -> Iterator[LiveFile]:
        """Yield the files of rows; only those that are added count."""
        columns = (part.between(start, end) for part in (self._sizes, self._base_ids, self._versions, self._counts))
        vectors = map(self._vectors.get, range(start, end)) if self._vectors else repeat(None)
        return map(_make_file, zip(self.paths(start, end), *columns, vectors, repeat(True)))

    def columns(self, start: int, end: int) -> FileColumns:
        """Return the columns of rows; only those that are added count."""
        rows = range(start, end)
        vectors = [vector for row in rows if (vector := self._vectors.get(row))] if self._vectors else ()
        return FileColumns(
            self._may_be_odd(start, end), self._sizes.between(start, end), vectors, partial(self.files, start, end)
        )

    def _may_be_odd(self, start: int, end: int) -> bool:
        ends = self._ends[start : end + 1]
        content = bytes(self._paths[ends[0] : ends[-1]])
        firsts = map((content + b"\n").__getitem__, map(sub, ends[:-1], repeat(ends[0])))
        return is_odd(content.decode(errors="replace")) or not _ODD_FIRST.isdisjoint(firsts)

    def live(self) -> MutableMapping[FileKey, LiveFile]:
        """Return the live files, as a dict if they are few. If a file is there twice, its last action counts."""
        return self._view(FileView(self))

    def digests(self) -> MutableMapping[FileKey, int]:
        """Return the digests of the live files; see :meth:`live`."""
        return self._view(PackedView(self, self._digests.__getitem__))

    def tombstones(self) -> MutableMapping[FileKey, int | None]:
        """Return the deletion timestamps of the removed files; see :meth:`live`."""
        return self._view(PackedView(self, self._deleted.__getitem__, removed=True))

    def _view(self, view: PackedView[V]) -> MutableMapping[FileKey, V]:
        return dict(view.items()) if len(view) <= FEW else view


def _values_of(batch: ActionBatch) -> Sequence[Any] | None:
    """Return the columns of live files, except paths and vectors; None if a value is out of the ordinary."""
    sizes = batch.column("size")
    counts: Sequence[Any] | None = batch.column(PARSED_COUNT)
    if sizes is None or set(map(type, sizes)) != {int}:
        return None
    values = batch.column("partitionValues")
    if values is not None and not set(map(type, values)) <= {dict, type(None)}:
        return None
    vectors = batch.column("deletionVector")
    if vectors is not None and not all(vector is None or vector for vector in vectors):
        return None
    if counts is None or None in counts:
        try:
            found = batch.row_counts()
        except ValueError:
            return None
        if found is not None:
            counts = found if counts is None else [one if two is None else two for one, two in zip(found, counts)]
    return sizes, batch.column("baseRowId"), batch.column("defaultRowCommitVersion"), counts


class PackedView(MutableMapping[FileKey, V], Generic[V]):
    """Values of packed files by key, with later changes. Its order is that of a dict.

    :param value: returns the value of a row
    :param removed: True for the removed files, False for the added ones
    """

    def __init__(self, files: PackedFiles, value: Callable[[int], V], *, removed: bool = False) -> None:
        self._files = files
        self._value = value
        self._removed = removed
        self._count = files.count(removed=removed)
        self._excluded: set[int] = set()
        self._replaced: dict[int, V] = {}
        self._added: dict[FileKey, V] = {}
        self._moved: dict[FileKey, int] = {}
        repeated: dict[FileKey, list[int]] = {}
        for row in files.twice:
            repeated.setdefault(files.key(row), []).append(row)
        for key, rows in repeated.items():
            self._settle(key, [files.find(key), *rows])

    def _settle(self, key: FileKey, rows: Sequence[int]) -> None:
        """Apply the actions about one file in their order.

        :param rows: their rows, ascending
        """
        kept, last = -1, -1
        for row in rows:
            if self._files.is_removed(row) is self._removed:
                self._excluded.add(row)
                kept, last = row if kept < 0 else kept, row
            else:
                kept = -1
        if kept >= 0:
            self._excluded.remove(kept)
            self._moved[key] = kept
            self._replaced[kept] = self._value(last)

    def _row(self, key: FileKey) -> int:
        row = self._moved[key] if key in self._moved else self._files.find(key)
        return -1 if row < 0 or row in self._excluded or self._files.is_removed(row) is not self._removed else row

    def __getitem__(self, key: FileKey) -> V:
        if key in self._added:
            return self._added[key]
        row = self._row(key)
        if row < 0:
            raise KeyError(key)
        return self._replaced[row] if row in self._replaced else self._value(row)

    def __contains__(self, key: object) -> bool:
        return key in self._added or self._row(key) >= 0  # type: ignore[arg-type]

    def __setitem__(self, key: FileKey, value: V) -> None:
        row = -1 if key in self._added else self._row(key)
        if row < 0:
            self._added[key] = value
        else:
            self._replaced[row] = value

    def __delitem__(self, key: FileKey) -> None:
        if key in self._added:
            del self._added[key]
            return
        row = self._row(key)
        if row < 0:
            raise KeyError(key)
        self._replaced.pop(row, None)
        self._excluded.add(row)

    def __len__(self) -> int:
        return self._count - len(self._excluded) + len(self._added)

    def __iter__(self) -> Iterator[FileKey]:
        return chain(chain.from_iterable(map(self._keys_from, self._starts)), self._added)

    @property
    def _starts(self) -> range:
        return range(0, len(self._files), _AT_ONCE)

    def _keys_from(self, start: int) -> Iterable[FileKey]:
        """Return the keys of the rows from ``start`` on that belong to this view."""
        found = self._files.keys(start, min(start + _AT_ONCE, len(self._files)))
        if not self._excluded and self._count == len(self._files):
            return found
        return (key for _, key in self._kept(start, found))

    def _kept(self, start: int, found: Iterable[Any]) -> Iterator[tuple[int, Any]]:
        """Yield the rows of this view, with their entries in ``found``."""
        for row, entry in enumerate(found, start):
            if row not in self._excluded and self._files.is_removed(row) is self._removed:
                yield row, entry

    def values(self) -> ValuesView[V]:
        return _Values(self)

    def items(self) -> Any:
        """Return pairs of keys and values; iterate over them once."""
        return zip(iter(self), self.all_values())

    def all_values(self) -> Iterator[V]:
        """Yield the values in the order of the keys."""
        return chain(chain.from_iterable(map(self._values_from, self._starts)), self._added.values())

    def _values_from(self, start: int) -> Iterable[V]:
        found = self._between(start, min(start + _AT_ONCE, len(self._files)))
        if self._count == len(self._files) and not (self._excluded or self._replaced):
            return found
        return (self._replaced.get(row, value) for row, value in self._kept(start, found))

    def _between(self, start: int, end: int) -> Iterable[V]:
        rows = range(start, end)
        return (self._value(row) if self._files.is_removed(row) is self._removed else None for row in rows)  # type: ignore[misc]


class FileView(PackedView[LiveFile]):
    """The live files of a checkpoint, with later changes."""

    def __init__(self, files: PackedFiles) -> None:
        super().__init__(files, files.file)

    def hash_sum(self) -> int:
        """Return the sum of :func:`hash_of` of all files."""
        if self._excluded or self._count < len(self._files):
            return sum(map(hash_of, self))
        return sum(self._files.hashes) + sum(map(hash_of, self._added))

    def columns(self) -> Iterator[FileColumns]:
        """Yield the files as columns, in their order."""
        if self._excluded or self._replaced or self._count < len(self._files):
            yield from _transposed(self.all_values())
            return
        for start in self._starts:
            yield self._files.columns(start, min(start + _AT_ONCE, len(self._files)))
        yield from _transposed(self._added.values())

    def _between(self, start: int, end: int) -> Iterable[LiveFile]:
        return self._files.files(start, end)


class _Values(ValuesView[V]):
    def __init__(self, view: PackedView[V]) -> None:
        super().__init__(view)
        self.view = view

    def __iter__(self) -> Iterator[V]:
        return self.view.all_values()
