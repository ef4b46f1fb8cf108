"""Checkpoints and log compaction files, compared with the commits: LG05, LG07, LG12 and LG27."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log import CHECKPOINTS, FAMILY, HISTORY
from airflow_delta_provider.domain.checks.rule import Need, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.checkpoint_comparison import (
    Originals,
    SnapshotComparison,
    file_differences,
    metadata_differences,
)
from airflow_delta_provider.domain.delta.commit import Action, ActionValue, parse_commit, read_actions
from airflow_delta_provider.domain.delta.features.log import V2_CHECKPOINT
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.log_files import (
    BrokenLogError,
    CompactionFile,
    LogSegment,
    is_multi_part,
    is_uuid_named,
)
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.packed_files import PackedFiles
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.snapshot import FILE_KINDS, ActionBatch, CheckpointPart, file_key
from airflow_delta_provider.domain.delta.table_state import TableState, differences
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import listed

# A missing or additional action may come from a fault in the commits or in the checkpoint's form.
_history = FAMILY.of(Scope.HISTORY, CHECKPOINTS, needs=(Need.LOG,))
_NOT_PRESERVED = ("commitInfo", "cdc")
_SIDECAR_FIELDS = ("sizeInBytes", "modificationTime")

MALFORMED_CHECKPOINT = _history.error(
    14,
    "checkpoint malformed",
    name="checkpoint-malformed",
    effect="Readers that start from the checkpoint fail, miss files or read some twice, each engine in its own way.",
    remedy="If the commits that it replaces are kept, delete it, and update the engine that wrote it; otherwise "
    "restore it from a backup or another replica of the log.",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(MALFORMED_CHECKPOINT)
class CheckpointForm:
    """Checks the form of a checkpoint. Its actions are passed in parts.

    :param names: names of its files in ``_delta_log``
    :param files: receives the files that it adds or removes
    """

    def __init__(self, version: int, names: Sequence[str], files: PackedFiles | None = None) -> None:
        self._version = version
        self._names = names
        self._in_sidecar = False
        self._kinds: Counter[tuple[str, bool]] = Counter()
        self._keys: set[tuple[str, Hashable]] = set()
        self._twice: list[tuple[tuple[int, bool], str, Hashable]] = []
        self._protocol: Protocol | None = None
        self._v2: list[Mapping[str, Any]] = []
        self._sidecars: list[Mapping[str, Any]] = []
        self._sizes: dict[str, int] = {}
        self._removed_domains: list[str] = []
        self.metadata: Mapping[str, Any] | None = None
        """Its metaData action."""
        self.bytes = 0
        """Size of its files in bytes, including sidecar files."""
        self.files = PackedFiles() if files is None else files
        """The files that it adds or removes."""

    @property
    def missing(self) -> str | None:
        """The kind of required action that this checkpoint lacks; None if it has all."""
        return next((kind for kind in ("protocol", "metaData") if not self._count(kind)), None)

    def _count(self, kind: str) -> int:
        return self._kinds[kind, False] + self._kinds[kind, True]

    def is_of(self, version: int, name: str | None) -> bool:
        """Return True if it is the checkpoint of a version and, if a name is given, has a file of that name."""
        return self._version == version and (name is None or name in self._names)

    def has(self, kind: str, body: Mapping[str, Any]) -> bool:
        """Return True if its protocol or metadata equals an action of that kind."""
        if kind == "protocol":
            return self._protocol == Protocol.from_json(body)
        known = self.metadata
        return known is not None and not metadata_differences(*map(Metadata.from_json, (known, body)))

    @property
    def sidecars(self) -> list[str]:
        return [body["path"] for body in self._sidecars]

    @property
    def actions(self) -> int:
        """Number of its actions, including those in sidecar files."""
        return sum(self._kinds.values())

    @property
    def adds(self) -> int:
        """Number of its ``add`` actions."""
        return self._count("add")

    def begin(self, part: CheckpointPart) -> None:
        """Start a part; its actions follow."""
        self._in_sidecar = part.is_sidecar
        self.bytes += part.size
        for kind, count in part.counted.items():
            self._kinds[kind, part.is_sidecar] += count
        if part.is_sidecar:
            self._sizes[part.name] = part.size

    def take(self, batch: ActionBatch) -> None:
        """Take actions.

        :raises KeyError: if one lacks a required field of its kind; TypeError, ValueError and AttributeError likewise
        :raises NotPackedError: see :class:`PackedFiles`
        """
        self._kinds[batch.kind, self._in_sidecar] += batch.count
        if batch.kind in FILE_KINDS:
            self.files.take(batch)
            return
        for body in batch.bodies():
            self._take(batch.kind, body)

    def _take(self, kind: str, body: Mapping[str, Any]) -> None:
        if kind == "txn":
            self._note(kind, body["appId"])
        elif kind == "domainMetadata":
            self._note(kind, body["domain"])
            if body.get("removed"):
                self._removed_domains.append(body["domain"])
        elif kind in ("protocol", "metaData"):
            self._note(kind, "")
            if kind == "protocol":
                self._protocol = Protocol.from_json(body)
            else:
                self.metadata = body
        elif kind == "checkpointMetadata":
            self._v2.append(body)
        elif kind == "sidecar":
            self._sidecars.append(body)

    def _note(self, kind: str, key: Hashable) -> None:
        what = kind, key
        if what in self._keys:
            self._twice.append(((len(self.files), False), *what))
        self._keys.add(what)

    def check(self) -> Iterator[Finding]:
        """Yield a finding with all problems of the checkpoint, if it has any."""
        problems = [*self._of_actions(), *self._of_spec(), *self._of_sidecars(), *self._of_tags()]
        if problems:
            yield MALFORMED_CHECKPOINT.found(
                "The checkpoint of version {version} is malformed: {problems}.",
                version=self._version,
                path=f"_delta_log/{self._names[0]}",
                problems=problems,
            )

    def _of_actions(self) -> Iterator[str]:
        files = (((row, True), "file", self.files.key(row)) for row in self.files.twice)
        twice = sorted([*self._twice, *files], key=itemgetter(0))  # in the order of the actions
        for _, kind, key in twice[:1]:
            more = f", and so are {len(twice) - 1} others" if len(twice) > 1 else ""
            yield f"{named_action(kind, key)} is in it twice{more}"
        for kind in _NOT_PRESERVED:
            if count := self._count(kind):
                yield f"it preserves {count} {kind} action{'s' if count > 1 else ''}"
        for domain in self._removed_domains[:1]:
            yield f"it has the domainMetadata of {domain}, which was removed"

    def _of_spec(self) -> Iterator[str]:
        """Yield violations of the V1 and V2 specifications, and mixtures of both."""
        multi_part, uuid_named = any(map(is_multi_part, self._names)), any(map(is_uuid_named, self._names))
        supported = self._protocol is not None and self._protocol.supports(V2_CHECKPOINT)
        if multi_part and supported:
            yield "it has several parts, which v2Checkpoint forbids"
        if multi_part and (self._v2 or self._sidecars):
            yield "it has several parts, and actions of V2 checkpoints"
        if uuid_named and not self._v2:
            yield "it is named by a UUID, but has no checkpointMetadata"
        elif self._sidecars and not self._v2:
            yield "it has sidecar actions, but no checkpointMetadata"
        if len(self._v2) > 1:
            yield f"it has {len(self._v2)} checkpointMetadata actions"
        if (uuid_named or self._v2 or self._sidecars) and not supported:
            yield "it is a V2 checkpoint of a table without v2Checkpoint"
        for body in self._v2:
            if body.get("version") != self._version:
                yield f"its checkpointMetadata is of version {body.get('version')}"

    def _of_sidecars(self) -> Iterator[str]:
        if self._sidecars and any(self._kinds[kind, False] for kind in FILE_KINDS):
            yield "it has file actions both in sidecar files and outside them"
        others = sorted(kind for kind, in_sidecar in self._kinds if in_sidecar and kind not in FILE_KINDS)
        if others:
            yield f"a sidecar file of it has {' and '.join(others)} actions"
        for path, count in Counter(body["path"] for body in self._sidecars).items():
            if count > 1:
                yield f"it names the sidecar file {path} {count} times"
        for body in self._sidecars:
            path = body["path"]
            lacking = [field for field in _SIDECAR_FIELDS if type(body.get(field)) is not int]
            folder, _, name = path.rpartition("/")
            if lacking:
                yield f"its sidecar action of {path} has no {' and no '.join(lacking)}"
            elif self._sizes.get(name, body["sizeInBytes"]) != body["sizeInBytes"]:
                yield f"the sidecar file {path} has {self._sizes[name]} bytes, not {body['sizeInBytes']}"
            if folder and not folder.endswith("_delta_log/_sidecars"):
                yield f"the sidecar file {path} is not in _delta_log/_sidecars"

    def _of_tags(self) -> Iterator[str]:
        in_sidecars = sum(count for (_, in_sidecar), count in self._kinds.items() if in_sidecar)
        counted = {
            "sidecarNumActions": in_sidecars,
            "sidecarSizeInBytes": sum(self._sizes.values()),
            "numOfAddFiles": self.adds,
        }
        tags = next(iter(self._v2), {}).get("tags") or {}
        for tag, count in counted.items():
            if tag in tags and tags[tag] != str(count):
                yield f"its tag {tag} is {tags[tag]}, not {count}"


def named_action(kind: str, key: Any) -> str:
    """Return the name of an action's subject, for people.

    :param key: its application or domain; the file's key for the kind ``file``; empty if the kind is enough
    """
    if kind == "file":
        return f"the file {key[0]}"
    return f"the {kind} of {key}" if key else f"the {kind} action"


INCOMPLETE_CHECKPOINT = _history.warning(
    15,
    "checkpoint lacks parts",
    name="checkpoint-parts-missing",
    effect="Readers have to ignore it, and list or replay more of the log; some fail.",
    remedy="Delete the parts that are there: an engine writes the next checkpoint as a whole.",
    source="PROTOCOL.md, Problems with multi-part checkpoints",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(INCOMPLETE_CHECKPOINT)
def incomplete_checkpoint(version: int, found: int, parts: int, name: str) -> Finding:
    """Return the finding about a multi-part checkpoint with missing parts.

    :param name: name of an existing part
    """
    return INCOMPLETE_CHECKPOINT.found(
        "The checkpoint of version {version} has {parts} parts, but the log holds only {found}.",
        version=version,
        path=f"_delta_log/{name}",
        found=found,
        parts=parts,
    )


DOMAIN_NOT_IN_CHECKPOINT = _history.error(
    5,
    "checkpoint lacks domain metadata",
    name="domain-missing-from-checkpoint",
    effect="Readers and writers that start from the checkpoint, as most do, lose the domain. Without the domain of "
    "row tracking they assign row ids twice.",
    remedy="Delete the checkpoint while the commits are still kept, and update the engine that wrote it.",
    threads=("delta-io/delta-kernel-rs#1716",),
    repairs=(RepairMethod.DERIVED_FILE,),
)
CONTRADICTING_CHECKPOINT = _history.error(
    7,
    "checkpoint contradicts the commits that it replaces",
    name="checkpoint-contradicts-commits",
    effect="Readers that start from the checkpoint see another table than readers that replay the commits.",
    remedy="Find out which is right. If it is the commits, delete the checkpoint; otherwise restore them from a backup "
    "or another replica of the log.",
    threads=("delta-io/delta-rs#2571", "delta-io/delta-rs#3288"),
    repairs=(RepairMethod.DERIVED_FILE,),
)
LOST_STATISTICS = _history.warning(
    27,
    "checkpoint lacks the statistics of the commits",
    name="checkpoint-lacks-statistics",
    effect="Engines that start from the checkpoint read these files for each query, and commits that repeat the files, "
    "such as deletions by vectors, lose the number of rows.",
    remedy="Let an up-to-date engine write the next checkpoint while the commits are still kept.",
    threads=("delta-io/delta-kernel-rs#3253",),
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(DOMAIN_NOT_IN_CHECKPOINT, CONTRADICTING_CHECKPOINT)
def check_checkpoint(checkpointed: TableState, replayed: TableState, segment: LogSegment) -> Iterator[Finding]:
    """Yield findings if the state from a checkpoint contradicts the commits that it replaces.

    :param checkpointed: state from the checkpoint, with files
    :param replayed: state from the commits, with files
    :param segment: log segment that ``checkpointed`` was read from
    """
    if found := list(differences(checkpointed, replayed)):
        yield _contradiction(segment, found)
    yield from _lost_domains(segment, replayed.domains, checkpointed.domains)


@on_demand(DOMAIN_NOT_IN_CHECKPOINT, CONTRADICTING_CHECKPOINT, LOST_STATISTICS)
def check_comparison(
    compared: SnapshotComparison,
    segment: LogSegment,
    files: Container[FileKey],
    originals: Originals,
    retained_since: Callable[[], float],
) -> Iterator[Finding]:
    """Yield findings if the contents of a checkpoint contradict the commits that it replaces.

    :param segment: the checkpoint
    :param files: all files that it adds or removes
    :param retained_since: returns the time, in milliseconds since 1970, after which tombstones must be kept
    """
    if found := list(compared.differences(files, originals, retained_since)):
        yield _contradiction(segment, found)
    yield from _lost_domains(segment, compared.expected_domains, compared.domains)
    if lost := compared.without_statistics:
        yield LOST_STATISTICS.found(
            "The checkpoint of version {version} has no statistics of {files:file}, for example {file}, but the "
            "commits do.",
            version=segment.checkpoint_version,
            path=f"_delta_log/{segment.checkpoint_files[0]}",
            files=len(lost),
            file=lost[0],
        )


def _contradiction(segment: LogSegment, found: list[str]) -> Finding:
    return CONTRADICTING_CHECKPOINT.found(
        "The checkpoint of version {version} and the commits that it replaces differ: {differences}.",
        version=segment.checkpoint_version,
        path=f"_delta_log/{segment.checkpoint_files[0]}",
        differences=found,
    )


def _lost_domains(segment: LogSegment, expected: Iterable[str], found: Iterable[str]) -> Iterator[Finding]:
    if lost := sorted(set(expected) - set(found)):
        yield DOMAIN_NOT_IN_CHECKPOINT.found(
            "The checkpoint of version {version} lacks the domainMetadata {domains}, which the commits have.",
            version=segment.checkpoint_version,
            path=f"_delta_log/{segment.checkpoint_files[0]}",
            subject=lost[0],
            domains=lost,
        )


_KINDS = ("protocol", "metaData", "domainMetadata", "txn", "add", "remove")
_NOT_IN_COMPACTED = ("commitInfo", "cdc", "checkpointMetadata", "sidecar")
#: The identity of an action: its kind with a domain, an application or a file. The newest such action counts.
_Key = tuple[str, Hashable]


CONTRADICTING_COMPACTION = HISTORY.error(
    12,
    "log compaction file contradicts its commits",
    name="log-compaction-contradicts-commits",
    effect="Readers that use the file see another table than readers that replay the commits, or fail.",
    remedy="Delete the file, which only saves readers work, and update the engine that wrote it.",
    source="PROTOCOL.md, Log Compaction Files",
    repairs=(RepairMethod.DERIVED_FILE,),
)


@on_demand(CONTRADICTING_COMPACTION)
def check_compaction(
    compaction: CompactionFile, content: bytes, commits: Iterable[Sequence[Action]]
) -> Iterator[Finding]:
    """Yield findings if a log compaction file contradicts its commits.

    :param commits: their actions, oldest first
    :raises BrokenLogError: if a commit is malformed
    """
    expected: dict[_Key, ActionValue] = {}
    #: Keys that the commits first mention by adding them: their removal may be missing in the file.
    born: set[_Key] = set()
    for actions in commits:
        for value in _bodies(actions):
            key = _key(value)
            if key not in expected and not _is_removal(value):
                born.add(key)
            expected[key] = value
    found: dict[_Key, ActionValue] = {}
    twice: set[_Key] = set()
    try:
        actions = parse_commit(compaction.name, content)
        for value in _bodies(actions):
            key = _key(value)
            if key in found:
                twice.add(key)
            found[key] = value
    except BrokenLogError as error:
        yield _finding(compaction, "cannot be read: {error}", error=Prose(error))
        return
    preserved = sorted({kind for action in actions for kind in action if kind in _NOT_IN_COMPACTED})
    needed = {key for key, value in expected.items() if not (_is_removal(value) and key in born)}
    wrong = [
        f"{what} {listed(sorted(named_action(*key) for key in keys), 1)}"
        for what, keys in (
            ("it lacks", [key for key in needed if key not in found]),
            ("only it has", [key for key in found if key not in expected]),
            ("it differs in", [k for k in found if k in expected and not _agree(found[k], expected[k])]),
            ("it has twice", list(twice)),
        )
        if keys
    ]
    wrong += [f"it preserves {kind} actions" for kind in preserved]
    if wrong:
        yield _finding(compaction, "contradicts them: {differences}", differences=wrong)


def _bodies(actions: Sequence[Action]) -> Iterator[ActionValue]:
    """Yield the actions as they are in the log.

    :raises BrokenLogError: if one is malformed
    """
    for _ in read_actions(actions, _KINDS):
        pass
    for action in actions:
        yield from ((kind, body) for kind, body in action.items() if kind in _KINDS and body is not None)


def _key(value: ActionValue) -> _Key:
    kind, body = value
    if kind in ("add", "remove"):
        return "file", file_key(body)
    if kind == "domainMetadata":
        return kind, body["domain"]
    return kind, str(body.get("appId")) if kind == "txn" else ""


def _is_removal(value: ActionValue) -> bool:
    kind, body = value
    return kind == "remove" or (kind == "domainMetadata" and bool(body.get("removed")))


def _agree(one: ActionValue, other: ActionValue) -> bool:
    (kind, ours), (other_kind, theirs) = one, other
    return kind == other_kind and _SAME[kind](ours, theirs)


def _same_time(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    times = one.get("deletionTimestamp"), other.get("deletionTimestamp")
    return None in times or times[0] == times[1]


def _same_domain(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    removed = bool(one.get("removed"))
    return removed == bool(other.get("removed")) and (removed or one["configuration"] == other["configuration"])


_SAME: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], bool]] = {
    "add": lambda one, other: not file_differences(one, other),
    "remove": _same_time,
    "txn": lambda one, other: bool(one.get("version") == other.get("version")),
    "domainMetadata": _same_domain,
    "protocol": lambda one, other: Protocol.from_json(one) == Protocol.from_json(other),
    "metaData": lambda one, other: not metadata_differences(Metadata.from_json(one), Metadata.from_json(other)),
}


def _finding(compaction: CompactionFile, problem: str, **facts: Any) -> Finding:
    return CONTRADICTING_COMPACTION.found(
        f"The log compaction file of the commits {{first}} to {{version}} {problem}.",
        version=compaction.last,
        path=f"_delta_log/{compaction.name}",
        first=compaction.first,
        **facts,
    )
