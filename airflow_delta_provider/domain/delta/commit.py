"""One commit of a table: its actions as values. PROTOCOL.md, Actions."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.delta.deletion_vector import BrokenDeletionVectorError
from airflow_delta_provider.domain.delta.live_file import FileKey, LiveFile, RemovedFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, MalformedActionError
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.formats.json_values import DuplicateKeyError, parse_json, text_of

#: The ``engineInfo`` of the commits that this provider writes.
ENGINE_INFO = f"airflow-delta-provider/{__version__}"
#: Key in ``commitInfo``, pattern of the signature, and name of the engine. The first match counts.
_SIGNATURES: tuple[tuple[str, re.Pattern[str], str], ...] = tuple(
    (key, re.compile(pattern), name)
    for key, pattern, name in (
        ("engineInfo", r"Databricks-Runtime/(?P<version>\S+)", "Databricks Runtime"),
        ("engineInfo", r"Apache-Spark/\S+ Delta-Lake/(?P<version>\S+)", "Delta Spark"),
        ("engineInfo", r"delta-rs:(?:py-)?(?P<version>\S+)", "delta-rs"),
        ("clientVersion", r"delta-rs\.(?:py-)?(?P<version>\S+)", "delta-rs"),
        ("engineInfo", r"DuckDB(?:[ /](?P<version>\S+))?", "DuckDB"),
        ("engineInfo", r"sail-delta-lake:(?P<version>\S+)", "Sail"),
        ("engineInfo", r"Kernel-(?P<version>[^/\s]+)/?.*", "Delta Kernel"),
        ("engineInfo", r"(?P<name>[A-Za-z][\w .-]*?)[/: ]v?(?P<version>\d\S*).*", ""),
        ("clusterId", r"trino-(?P<version>[^-]+)-.*", "Trino"),
    )
)
#: Fields of the signatures.
SIGNATURES = tuple(f"commitInfo.{key}" for key in dict.fromkeys(key for key, *_ in _SIGNATURES))
#: Engines whose commits are recognised by their signature.
ENGINES = tuple(dict.fromkeys(name for *_, name in _SIGNATURES if name))


def signature_of(info: Mapping[str, Any]) -> str | None:
    """Return the signature of the engine that made a commit; None if it did not sign.

    :param info: ``commitInfo`` of the commit
    """
    for key in ("engineInfo", "clientVersion"):
        if isinstance(info.get(key), str) and info[key]:
            return str(info[key])
    cluster = info.get("clusterId")
    return cluster if isinstance(cluster, str) and cluster.startswith("trino-") else None


def writer_of(info: Mapping[str, Any]) -> str | None:
    """Return name and version of the engine that made a commit.

    None if its signature is unknown or missing. For delta-rs, it is the version of the Rust crate, not of the Python
    package.

    :param info: ``commitInfo`` of the commit
    """
    for key, pattern, name in _SIGNATURES:
        value = info.get(key)
        match = pattern.fullmatch(value) if isinstance(value, str) else None
        if match:
            found = match.groupdict()
            return " ".join(filter(None, (name or found["name"], found["version"])))
    return None


#: An action as in the log: one key, its kind, with its body as the value.
Action = Mapping[str, Any]
#: The kind of an action, and its body as a value.
ActionValue = tuple[str, Any]


@dataclass(frozen=True)
class DomainMetadata:
    """A domainMetadata action. PROTOCOL.md, Domain Metadata.

    :param configuration: configuration; for a removed domain, its last one, or empty if the log does not contain it
    """

    domain: str
    configuration: str
    removed: bool = False


@dataclass(frozen=True)
class Commit:
    """The actions of one commit.

    :param info: its ``commitInfo``, empty if it has none
    :param protocols: its protocol actions; a valid commit has at most one
    :param metadata: its metaData actions; a valid commit has at most one
    :param transactions: its ``txn`` actions, as in the log
    :param first_kind: kind of its first action
    :param change_data: its ``cdc`` actions, as in the log
    """

    version: int
    info: Mapping[str, Any] = field(default_factory=dict)
    adds: tuple[LiveFile, ...] = ()
    removes: tuple[RemovedFile, ...] = ()
    protocols: tuple[Protocol, ...] = ()
    metadata: tuple[Metadata, ...] = ()
    domains: tuple[DomainMetadata, ...] = ()
    transactions: tuple[Mapping[str, Any], ...] = ()
    first_kind: str | None = None
    change_data: tuple[Any, ...] = ()

    @classmethod
    def from_actions(cls, version: int, actions: Iterable[Action]) -> Commit:
        """Read the actions of a commit file.

        :raises BrokenLogError: if an action is malformed
        """
        return cls.of(version, read_actions(actions, where=f" of version {version}"))

    @classmethod
    def of(cls, version: int, values: Iterable[ActionValue]) -> Commit:
        """Create a commit from the values of its actions."""
        found: dict[str, list[Any]] = defaultdict(list)
        for kind, value in values:
            found[kind].append(value)
        of = {kind: tuple(each) for kind, each in found.items()}
        return cls(
            version,
            next(iter(of.get("commitInfo", ())), {}),
            of.get("add", ()),
            of.get("remove", ()),
            of.get("protocol", ()),
            of.get("metaData", ()),
            of.get("domainMetadata", ()),
            of.get("txn", ()),
            next(filter(None, found), None),
            of.get("cdc", ()),
        )

    @cached_property
    def added(self) -> Mapping[FileKey, LiveFile]:
        """The logical files that it adds. If it adds a file twice, the last one counts."""
        # Inlined key of a file, because this runs for each file of each commit.
        return {
            (file.path, "" if file.deletion_vector is None else file.deletion_vector.unique_id): file
            for file in self.adds
        }

    @property
    def operation(self) -> str | None:
        return _text(self.info.get("operation"))

    @property
    def tags(self) -> Mapping[str, Any]:
        tags = self.info.get("tags")
        return tags if isinstance(tags, Mapping) else {}

    @property
    def provenance(self) -> dict[str, Any]:
        """Version, engine, operation and time, for a finding about this commit."""
        return {"version": self.version, **provenance_of(self.info)}


def _domain(body: Mapping[str, Any]) -> DomainMetadata:
    removed = bool(body.get("removed"))
    configuration = body.get("configuration") if removed else text_of(body, "configuration")
    return DomainMetadata(text_of(body, "domain"), configuration if isinstance(configuration, str) else "", removed)


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "commitInfo": dict,
    "add": LiveFile.from_add,
    "remove": RemovedFile.from_remove,
    "protocol": Protocol.from_json,
    "metaData": Metadata.from_json,
    "domainMetadata": _domain,
    "txn": dict,
}
#: Kinds of actions in the log, and kinds that only checkpoints have.
KINDS = frozenset({*_READERS, "cdc", "checkpointMetadata", "sidecar"})


def read_actions(
    actions: Iterable[Action], kinds: Collection[str] | None = None, where: str = ""
) -> Iterator[ActionValue]:
    """Yield the values of actions in their order.

    An action of an unknown kind is yielded with its unchanged body.

    :param kinds: kinds to yield, all of them known; None for all actions
    :param where: description of the commit, for the error message
    :raises MalformedActionError: if an action lacks a field that its kind requires
    """
    for action in actions:
        for kind, body in action.items():
            if body is None or not (kinds is None or kind in kinds):
                continue
            if kind not in _READERS:
                if len(action) == 1:  # next to a known action, it is not a separate action
                    yield kind, body
                continue
            try:
                if not isinstance(body, dict):
                    raise ValueError("it is not a map")
                yield kind, _READERS[kind](body)
            except (KeyError, TypeError, ValueError, AttributeError, BrokenDeletionVectorError) as error:
                what = f"it has no {error.args[0]}" if isinstance(error, KeyError) else str(error)
                article = "an" if kind[0] in "aeiou" else "a"
                raise MalformedActionError(f"{article} {kind} action{where} is malformed: {what}") from error


def check_actions(actions: Iterable[Action]) -> None:
    """Check that the values of actions can be read.

    :raises MalformedActionError: if an action lacks a field that its kind requires
    """
    for _ in read_actions(actions):
        pass


def parse_commit(name: str, content: bytes) -> list[Action]:
    """Read a commit file.

    :raises BrokenLogError: if a line is not an action: truncated, not JSON, not UTF-8
    """
    return [action for _, action in parse_lines(name, content, _split).parsed]


#: Starts of lines that contain neither ``commitInfo`` nor protocol or metadata.
_OTHERS = (b'{"add"', b'{"remove"', b'{"cdc"', b'{"txn"', b'{"domainMetadata"')


def actions_of_head(content: bytes) -> Iterator[Action]:
    """Yield a commit's ``commitInfo``, protocol and metadata actions.

    :raises ValueError: if one is damaged
    """
    for line in content.split(b"\n"):
        if line.strip() and not line.startswith(_OTHERS):
            action = parse_line(line.decode())
            if isinstance(action, dict):
                yield action


class CommitText(NamedTuple):
    """A commit file whose lines were not all parsed.

    :param text: the whole file
    :param entries: its actions in order, as in the log or as values
    :param parsed: the parsed lines, with their actions
    """

    text: str
    entries: list[Action | ActionValue]
    parsed: list[tuple[str, Action]]


def parse_lines(name: str, content: bytes, read: Callable[[str], Iterable[ActionValue | str]]) -> CommitText:
    """Read a commit file.

    :param read: function that splits a text, which ends with a newline, into lines. For each line it returns the
        action's value, or the line itself if it must be parsed
    :raises BrokenLogError: if a line is not an action: truncated, not JSON, not UTF-8
    """
    entries: list[Action | ActionValue] = []
    parsed: list[tuple[str, Action]] = []
    number = 0
    try:
        text = content.removeprefix(BOM_UTF8).decode()
        if not text.endswith("\n"):
            text += "\n"
        for number, entry in enumerate(read(text), start=1):
            if not isinstance(entry, str):
                entries.append(entry)
                continue
            if not entry or entry.isspace():
                continue
            action = parse_line(entry)
            if not isinstance(action, dict):
                raise MalformedActionError(f"line {number} of commit {name} is no action")
            if len(action) > 1:
                _check_single(action)
            entries.append(action)
            parsed.append((entry, action))
    except json.JSONDecodeError as error:
        raise BrokenLogError(f"line {number} of commit {name} is not JSON: the file is damaged or truncated") from error
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise BrokenLogError(f"line {number} of commit {name} is not UTF-8: the file is damaged") from error
    except ValueError as error:
        raise MalformedActionError(f"line {number} of commit {name} is damaged: {error}") from error
    except MemoryError:  # proves only that the file is large
        raise MemoryError(f"commit {name} of {len(content):,} bytes, once it is parsed,") from None
    if not entries:
        raise BrokenLogError(f"commit {name} is empty: the file is damaged or truncated")
    return CommitText(text, entries, parsed)


def _split(text: str) -> list[str]:
    return text.split("\n")


def _check_single(action: Action) -> None:
    kinds = [kind for kind in (*_READERS, "cdc") if action.get(kind) is not None]
    if len(kinds) > 1:
        raise ValueError(f"it holds {' and '.join(kinds)}, though a line is one action: some readers take one of them")


def parse_line(line: str) -> Any:
    """Read a line of a commit file.

    :raises ValueError: if it is not JSON, or damaged in another way
    """
    if line.startswith('{"commitInfo":'):
        action = parse_json(line)
        if action.keys() == {"commitInfo"}:  # writers put user input there, and no reader depends on it
            return action
    try:
        return parse_json(line, unique=True)
    except DuplicateKeyError:
        action = parse_json(line)
        if action.keys() == {"commitInfo"}:
            return action
        raise


def provenance_of(info: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the author, tool and time of a commit, as the fields of a finding.

    :param info: ``commitInfo`` of the commit
    """
    milliseconds = info.get("inCommitTimestamp", info.get("timestamp"))
    return {
        "engine": signature_of(info),
        "writer": writer_of(info),
        "operation": _text(info.get("operation")),
        "user": _text(info.get("userName")) or _text(info.get("userId")),
        "timestamp": time_of(milliseconds),
    }


def commit_info(actions: Iterable[Action]) -> Mapping[str, Any]:
    """Return the commit's ``commitInfo``, empty if it has none."""
    return next((a["commitInfo"] for a in actions if isinstance(a.get("commitInfo"), Mapping)), {})


def changes_metadata(actions: Iterable[Action]) -> bool:
    """Return True if a commit changes protocol or metadata."""
    return any("protocol" in action or "metaData" in action for action in actions)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def time_of(milliseconds: Any) -> str | None:
    """Return a time as ISO 8601, UTC; None if it is not a valid time.

    :param milliseconds: milliseconds since 1970
    """
    try:
        return datetime.fromtimestamp(milliseconds / 1000, timezone.utc).isoformat(timespec="milliseconds")
    except (TypeError, ValueError, OverflowError, OSError):
        return None


#: Number of consecutive commits older than a given time after which all earlier commits count as older.
MOST_OLDER = 100
_NEXT = timedelta(milliseconds=1)
#: Maximum difference between writers' clocks and time zones. A commit with a later time cannot have been made yet.
_FUTURE = timedelta(days=1)


@dataclass(frozen=True)
class CommitTime:
    """A commit and its time.

    :param time: time of the commit, with a time zone
    :param is_in_commit: True if the time is the in-commit timestamp
    """

    version: int
    time: datetime
    is_in_commit: bool


Timed = TypeVar("Timed", bound=CommitTime)


def in_order(commits: Iterable[Timed]) -> Iterator[Timed]:
    """Yield commits, oldest first, with the times that readers assign to them."""
    last: datetime | None = None
    for commit in commits:
        if last is not None and not commit.is_in_commit and commit.time <= last:
            commit = replace(commit, time=last + _NEXT)
        last = commit.time
        yield commit


def made_since(commits: Iterable[Timed], since: datetime, now: datetime) -> tuple[list[Timed], bool]:
    """Return the commits made since a time, newest first, and True if the log has older ones.

    A commit that seems too old still counts if a commit before it counts. A commit whose time lies in the future proves
    nothing about others: it is as old as the commits after it. Reading stops after ``MOST_OLDER`` older commits in a
    row.
    """
    found: list[Timed] = []
    older: list[Timed] = []
    for commit in commits:
        if commit.time < since or (older and commit.time > now + _FUTURE):
            older.append(commit)
            if len(older) == MOST_OLDER:
                break
        else:
            found += list(in_order([commit, *older[::-1]]))[::-1]
            older = []
    return found, bool(older)
