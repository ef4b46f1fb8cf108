"""Log compaction files, compared with their commits: LG12. PROTOCOL.md, Log Compaction Files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.log import HISTORY
from airflow_delta_provider.domain.checks.log.checkpoints import named_action
from airflow_delta_provider.domain.checks.rule import Prose, RepairMethod
from airflow_delta_provider.domain.delta.checkpoint_comparison import file_differences, metadata_differences
from airflow_delta_provider.domain.delta.commit import Action, ActionValue, parse_commit, read_actions
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, CompactionFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.snapshot import file_key
from airflow_delta_provider.domain.report.report import Finding

_KINDS = ("protocol", "metaData", "domainMetadata", "txn", "add", "remove")
_NOT_PRESERVED = ("commitInfo", "cdc", "checkpointMetadata", "sidecar")
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
            if key not in expected and not _is_gone(value):
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
    preserved = sorted({kind for action in actions for kind in action if kind in _NOT_PRESERVED})
    needed = {key for key, value in expected.items() if not (_is_gone(value) and key in born)}
    wrong = [
        f"{what} {_listed(keys)}"
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


def _is_gone(value: ActionValue) -> bool:
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


def _listed(keys: list[_Key]) -> str:
    names = sorted(named_action(*key) for key in keys)
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _finding(compaction: CompactionFile, problem: str, **facts: Any) -> Finding:
    return CONTRADICTING_COMPACTION.found(
        f"The log compaction file of the commits {{first}} to {{version}} {problem}.",
        version=compaction.last,
        path=f"_delta_log/{compaction.name}",
        first=compaction.first,
        **facts,
    )
