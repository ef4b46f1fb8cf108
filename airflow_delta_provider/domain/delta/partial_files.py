"""The files of a checkpoint that an engine counted elsewhere: only the files that matter to an audit are here.

A table may have more files than fit into one process. Most of them can neither be named by a finding nor be touched by
a commit. The engine counts these, and passes on the rest: the *known* files. A :class:`PartialFiles` answers what the
known files and the numbers of the others answer. Everything else raises :class:`AllFilesNeededError`; the caller then
reads the whole checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence, Set
from typing import Generic, NamedTuple, TypeVar

from airflow_delta_provider.domain.delta.live_file import FileKey

V = TypeVar("V")


class AllFilesNeededError(Exception):
    """A question that only the whole set of files answers."""


class UnlistedFiles(NamedTuple):
    """The files that are not known one by one.

    :param number: number of files
    :param size: total size in bytes; 0 if it does not matter
    :param histogram: returns, for lower bounds of size bins and of deleted rows, the triples of size bin, bin of
        deleted rows, and (number of files, bytes, files with deletion vectors, deleted rows)
    """

    number: int
    size: int = 0
    histogram: Callable[[Sequence[int], Sequence[int]], Iterable[tuple[int, int, Sequence[int]]]] = lambda *_: ()


class PartialFiles(MutableMapping[FileKey, V], Generic[V]):
    """Values of files by key, with later changes.

    :param values: values of the known files
    :param paths: paths of all files that are known, including files that are known to be absent
    :param places: places of files in the checkpoint, for their order
    """

    def __init__(
        self,
        values: MutableMapping[FileKey, V],
        paths: Set[str],
        places: Mapping[FileKey, object],
        others: UnlistedFiles,
    ) -> None:
        self._values = dict(values)
        self._paths = set(paths)
        self._places = dict(places)
        self.others = others
        """The files that are not known."""
        self._is_joined = False

    def _check(self, key: FileKey) -> None:
        if key[0] not in self._paths:
            raise AllFilesNeededError(f"the file {key[0]} was counted, and not read")

    def __getitem__(self, key: FileKey) -> V:
        if key in self._values:
            return self._values[key]
        self._check(key)
        raise KeyError(key)

    def __setitem__(self, key: FileKey, value: V) -> None:
        self._check(key)
        self._values[key] = value

    def __delitem__(self, key: FileKey) -> None:
        self._check(key)
        del self._values[key]
        self._places.pop(key, None)

    def __len__(self) -> int:
        return len(self._values) + self.others.number

    def __iter__(self) -> Iterator[FileKey]:
        if not self._is_joined:
            raise AllFilesNeededError("all files are needed")
        return iter(self._ordered())

    @property
    def paths(self) -> Set[str]:
        """The paths of all files that are known."""
        return self._paths

    @property
    def known(self) -> Mapping[FileKey, V]:
        """The known files, in their order."""
        return {key: self._values[key] for key in self._ordered()}

    def _ordered(self) -> list[FileKey]:
        placed = sorted((key for key in self._values if key in self._places), key=self._places.__getitem__)  # type: ignore[arg-type]  # places of one checkpoint can be compared
        return [*placed, *(key for key in self._values if key not in self._places)]

    def keys_of(self, paths: Iterable[str]) -> Iterator[FileKey]:
        """Yield the keys of the files with these paths."""
        wanted = set(paths)
        for path in wanted:
            self._check((path, ""))
        return (key for key in self._values if key[0] in wanted)

    def join(self, values: Mapping[FileKey, V], paths: Iterable[str], places: Mapping[FileKey, object]) -> None:
        """Make more files known: all that differ from another checkpoint. Then the files can be compared with it.

        :param values: files that were counted before
        :param paths: paths that are known now
        """
        new = {key: value for key, value in values.items() if key[0] not in self._paths}
        self._paths.update(paths)
        self._values |= new
        self._places |= {key: place for key, place in places.items() if key in new}
        self.others = UnlistedFiles(self.others.number - len(new))
        self._is_joined = True

    def part(self) -> None:
        """Note that the comparison with the other checkpoint is over."""
        self._is_joined = False


def known_files(files: Mapping[FileKey, V]) -> Mapping[FileKey, V]:
    """Return the files that are known one by one: usually all."""
    return files.known if isinstance(files, PartialFiles) else files


def other_files(files: Mapping[FileKey, V]) -> UnlistedFiles:
    """Return the files that are only counted: usually none."""
    return files.others if isinstance(files, PartialFiles) else _NONE


_NONE = UnlistedFiles(0)
