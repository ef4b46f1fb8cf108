"""Commits with lines that mostly match checked lines: matching lines are neither parsed nor checked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import takewhile
from threading import Lock
from typing import Any, NamedTuple, overload

from airflow_delta_provider.domain.audit.fast_path.json_pattern import LinePatterns, NoPatternError
from airflow_delta_provider.domain.audit.fast_path.open_fields import OpenFields
from airflow_delta_provider.domain.audit.fast_path.patterns import (
    FilePattern,
    InfoPattern,
    MarkPattern,
    TransactionPattern,
)
from airflow_delta_provider.domain.audit.fast_path.routine_commits import CommitEffect, RoutineCommit
from airflow_delta_provider.domain.delta.column_statistics import Columns, columns_of
from airflow_delta_provider.domain.delta.commit import (
    Action,
    ActionValue,
    CommitText,
    parse_lines,
    read_actions,
)
from airflow_delta_provider.domain.delta.features.log import CLUSTERING_DOMAIN, DOMAIN
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.formats.json_values import parse_json

#: Number of unmatched lines that are checked before the first pattern is made, which takes about as long. The number
#: doubles for each further pattern.
FEW = 50
#: Maximum number of patterns per table.
_MOST = 8
#: Kinds of actions that can have patterns; for domains, only row tracking.
_LEARNT = ("add", "remove", "domainMetadata", "txn")
_Pattern = FilePattern | MarkPattern | TransactionPattern


class CommitLines(Sequence[Action]):
    """The actions of a commit. Actions that match a pattern are parsed only if a caller reads them all.

    :param content: contents of the commit's file
    """

    def __init__(self, content: CommitText) -> None:
        self._content = content
        self._actions: Sequence[Action] | None = None
        self.unmatched = content.parsed
        """The unmatched lines with their actions, which have to be checked."""

    def values(self, where: str) -> list[ActionValue]:
        """Return the values of all actions, in order.

        :param where: location for error messages, as in :func:`read_actions`
        :raises BrokenLogError: if an action lacks a required field of its kind
        """
        found: list[ActionValue] = []
        for entry in self._content.entries:
            if isinstance(entry, tuple):
                found.append(entry)
            else:
                found.extend(read_actions((entry,), where=where))
        return found

    def all(self) -> Sequence[Action]:
        if self._actions is None:
            lines = [line for line in self._content.text.split("\n") if line and not line.isspace()]
            self._actions = [
                parse_json(line) if isinstance(entry, tuple) else entry
                for line, entry in zip(lines, self._content.entries)
            ]
        return self._actions

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return len(self._content.text)

    def others(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the actions that are not about files, each with its kind."""
        for entry in self._content.entries:
            if not isinstance(entry, tuple):
                yield from (item for item in entry.items() if item[0] not in ("add", "remove") and item[1] is not None)
            elif entry[0] == "txn":
                yield entry
            elif entry[0] == "domainMetadata":
                yield entry[0], {"domain": entry[1].domain, "configuration": entry[1].configuration}

    def __len__(self) -> int:
        return len(self._content.entries)

    @overload
    def __getitem__(self, place: int) -> Action: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Action]: ...
    def __getitem__(self, place: int | slice) -> Action | Sequence[Action]:
        return self.all()[place]

    def __iter__(self) -> Iterator[Action]:
        return iter(self.all())


class TablePatterns:
    """Patterns of the lines without findings in a table's commits.

    :param fields: fields that patterns may leave open
    """

    def __init__(self, fields: OpenFields) -> None:
        self._fields = fields
        self._head: tuple[Any, ...] = (None, None, None)
        self._patterns = _Patterns(Columns(), fields)

    def read(self, name: str, content: bytes, before: TableState) -> Sequence[Action]:
        """Read a commit file.

        :param before: the state before it
        :raises BrokenLogError: if a line is not an action
        """
        lines = CommitLines(parse_lines(name, content, self._of(before).read))
        return lines.all() if any(_changes_head(action) for _, action in lines.unmatched) else lines

    def learn(self, lines: CommitLines, state: TableState, is_right: Callable[[Action], bool]) -> None:
        """Learn patterns from a checked commit.

        :param state: the state after it
        :param is_right: returns True if an action has no finding, whichever commit it is in
        """
        patterns = self._of(state)
        for line, action in lines.unmatched:
            kind = next((kind for kind in _LEARNT if kind in action), None)
            if kind is None or (kind == "domainMetadata" and action[kind].get("domain") != DOMAIN):
                continue
            if patterns.wants(line) and is_right(action):
                patterns.learn(line, kind, action)

    def read_routine(self, contents: Sequence[bytes], before: TableState) -> Iterator[RoutineCommit]:
        """Yield the contents of commits, up to the first with a line that matches no pattern.

        :param contents: contents of their files
        :param before: the state before the first of them
        """
        return self._of(before).read_routine(contents)

    def learn_commit(self, lines: CommitLines, state: TableState, effect: CommitEffect) -> None:
        """Learn from a commit without findings whose lines all match patterns, except its ``commitInfo``.

        :param state: the state after it
        """
        ((line, _),) = lines.unmatched
        self._of(state).learn_info(line, effect)

    def _of(self, state: TableState) -> _Patterns:
        """Return the patterns for the protocol, metadata and clustering on which checks of single actions depend."""
        clustering, (protocol, metadata, known) = state.domains.get(CLUSTERING_DOMAIN), self._head
        if state.protocol is not protocol or state.metadata is not metadata or clustering != known:
            self._head = (state.protocol, state.metadata, clustering)
            self._patterns = _patterns_of(_Head(state, clustering), self._fields)
        return self._patterns


def _changes_head(action: Action) -> bool:
    if "metaData" in action or "protocol" in action:
        return True
    domain = action.get("domainMetadata")
    return domain is not None and not (isinstance(domain, dict) and domain.get("domain") != CLUSTERING_DOMAIN)


class _Learned(NamedTuple):
    """Patterns of lines, and a matcher that applies all of them to a line.

    :param lines: the matcher; None if there are no patterns
    """

    patterns: tuple[_Pattern, ...] = ()
    lines: LinePatterns | None = None


#: Patterns of ``commitInfo``, each with the effects of the commits without findings that had such a line.
_Infos = Mapping[InfoPattern, frozenset[CommitEffect]]


class _Patterns:
    """The patterns of lines for one head. Threads that audit similar tables share them.

    Readers are not disturbed: to learn, one thread at a time replaces values that are never modified.
    """

    def __init__(self, columns: Columns, fields: OpenFields) -> None:
        self._columns = columns
        self._fields = fields
        self._learning = Lock()
        self._learned = _Learned()
        self._infos: _Infos = {}
        self._left = FEW

    def read(self, text: str) -> list[ActionValue | str]:
        """Return the value of each line that matches a pattern and is correct; otherwise the line itself.

        :param text: lines, each with a line end
        """
        known = self._learned
        if known.lines is None:
            return [*text.split("\n")]
        rows, lines = known.lines.rows(text), list[str]()
        found: list[ActionValue | str] = [row[-1] for row in rows]
        for pattern, sign, values in zip(known.patterns, known.lines.signs, known.lines.values):
            fitting = [place for place, row in enumerate(rows) if row[sign]]
            if not fitting:
                continue
            kind = pattern.kind
            for place, value in zip(fitting, pattern.read([values(rows[place]) for place in fitting])):
                if value is None:
                    lines = lines or text.split("\n")
                found[place] = lines[place] if value is None else (kind, value)
        return found

    def read_routine(self, contents: Sequence[bytes]) -> Iterator[RoutineCommit]:
        """Yield the contents of commits, up to the first with a line that matches no pattern.

        :param contents: contents of their files
        """
        infos = self._infos
        whole = [*takewhile(_ends, contents)] if infos else ()
        try:
            entries = self.read(b"".join(whole).decode())
        except UnicodeDecodeError:
            return
        end = 0
        for content in whole:
            start, end = end, end + content.count(b"\n")
            info = entries[start]
            pattern = _fitting(infos, info) if isinstance(info, str) else None
            of: dict[str, list[Any]] = {kind: [] for kind in _LEARNT}
            for entry in entries[start + 1 : end]:
                if isinstance(entry, str):
                    return
                of[entry[0]].append(entry[1])
            if pattern is None or not isinstance(info, str):
                return
            yield RoutineCommit(info, pattern.timestamp(info), infos[pattern], *of.values())

    def learn_info(self, line: str, effect: CommitEffect) -> None:
        """Learn from the ``commitInfo`` of a commit without findings."""
        with self._learning:
            infos = self._infos
            pattern = _fitting(infos, line)
            if pattern is None and len(infos) < _MOST:
                with suppress(NoPatternError):
                    pattern = InfoPattern(line, self._fields.in_info)
            if pattern is not None:
                self._infos = {**infos, pattern: infos.get(pattern, frozenset()) | {effect}}

    def wants(self, line: str) -> bool:
        """Count an unmatched line. Return True if a pattern should be learned from it."""
        with self._learning:
            patterns = self._learned.patterns
            if any(pattern.lacks(line) for pattern in patterns):
                return True
            self._left -= 1
            if self._left > 0 or len(patterns) >= _MOST:
                return False
            self._left = FEW << len(patterns) + 1
            return True

    def learn(self, line: str, kind: str, action: Action) -> None:
        """Learn from a line without findings."""
        with self._learning, suppress(NoPatternError):
            patterns = self._learned.patterns
            if not any(pattern.take(line) for pattern in patterns):
                patterns = (*patterns, self._pattern(line, kind, action))
                self._learned = _Learned(patterns, LinePatterns([pattern.pattern for pattern in patterns]))

    def _pattern(self, line: str, kind: str, action: Action) -> _Pattern:
        """Return the pattern of a line.

        :raises NoPatternError: if it has none
        """
        ((_, value),) = read_actions((action,))
        fields = self._fields.in_lines
        if kind == "domainMetadata":
            return MarkPattern(line, value, fields)
        if kind == "txn":
            return TransactionPattern(line, value, fields)
        stats = action[kind].get("stats") if kind == "add" else None
        return FilePattern(line, kind, value, stats, self._columns, fields)


def _fitting(infos: _Infos, line: str) -> InfoPattern | None:
    return next((pattern for pattern in infos if pattern.fits(line)), None)


def _ends(content: bytes) -> bool:
    """Return True if the last line of a file has a line end, so that other files can be appended."""
    return content.endswith(b"\n")


class _Head:
    """A key of everything on which checks of single actions depend."""

    def __init__(self, state: TableState, clustering: str | None) -> None:
        self.metadata = metadata = state.metadata
        configuration = frozenset(metadata.configuration.items())
        partitions = tuple(map(str, metadata.partition_columns))
        self._key = (state.protocol, metadata.schema_string, partitions, configuration, clustering)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Head) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


@lru_cache(maxsize=16)
def _patterns_of(head: _Head, fields: OpenFields) -> _Patterns:
    """Return the patterns for a head. They are cached, since tables of one owner are often alike."""
    return _Patterns(columns_of(head.metadata) or Columns(), fields)
