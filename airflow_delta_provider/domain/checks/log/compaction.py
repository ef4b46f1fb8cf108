"""Log compaction files, compared with their commits: LG12. PROTOCOL.md, Log Compaction Files."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.log.family import FAMILY
from airflow_delta_provider.domain.checks.rule import ANY_COMMIT, Need, Scope
from airflow_delta_provider.domain.delta.commit import Action, ActionValue, parse_commit, read_actions
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, CompactionFile
from airflow_delta_provider.domain.report.finding import Finding

_KINDS = ("protocol", "metaData", "domainMetadata", "txn", "add", "remove")
#: What an action is about, of which the newest counts: a kind with a domain, an application or a file.
_Key = tuple[str, Hashable]


CONTRADICTING_COMPACTION = FAMILY.of(Scope.HISTORY).error(
    12,
    "log compaction file contradicts its commits",
    effect="Readers that use it see another table than those that replay the commits, or fail.",
    remedy="Delete the file, which only saves readers work, and update the engine that wrote it.",
    source="PROTOCOL.md, Log Compaction Files",
    follows_from=ANY_COMMIT,
    needs=(Need.LOG,),
)


@on_demand(CONTRADICTING_COMPACTION)
def check_compaction(
    compaction: CompactionFile, content: bytes, commits: Iterable[Sequence[Action]]
) -> Iterator[Finding]:
    """Yield how a log compaction file contradicts its commits.

    :param commits: their actions, oldest first
    :raises BrokenLogError: if a commit is malformed
    """
    expected: dict[_Key, ActionValue] = {}
    #: What the commits first mention by adding it: its removal need not be in the file.
    born: set[_Key] = set()
    for actions in commits:
        for value in read_actions(actions, _KINDS):
            key = _key(value)
            if key not in expected and not _is_gone(value):
                born.add(key)
            expected[key] = value
    found: dict[_Key, ActionValue] = {}
    twice: set[_Key] = set()
    try:
        for value in read_actions(parse_commit(compaction.name, content), _KINDS):
            key = _key(value)
            if key in found:
                twice.add(key)
            found[key] = value
    except BrokenLogError as error:
        yield _finding(compaction, "cannot be read: {error}", error=Prose(error))
        return
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
    if wrong:
        yield _finding(compaction, "contradicts them: {differences}", differences=wrong)


def _key(value: ActionValue) -> _Key:
    kind, body = value
    if kind in ("add", "remove"):
        return "file", body.key
    if kind == "domainMetadata":
        return kind, body.domain
    return kind, str(body.get("appId")) if kind == "txn" else ""


def _is_gone(value: ActionValue) -> bool:
    kind, body = value
    return kind == "remove" or (kind == "domainMetadata" and body.removed)


def _agree(one: ActionValue, other: ActionValue) -> bool:
    (kind, ours), (other_kind, theirs) = one, other
    if kind != other_kind:
        return False
    if isinstance(ours, LiveFile):
        return ours.same_as(theirs)
    if kind == "txn":
        return bool(ours.get("version") == theirs.get("version"))
    return kind == "remove" or bool(ours == theirs)


def _listed(keys: list[_Key]) -> str:
    names = sorted(_name(*key) for key in keys)
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"


def _name(kind: str, what: Any) -> str:
    if kind == "file":
        return f"the file {what[0]}"
    return f"the {kind} of {what}" if what else f"the {kind} action"


def _finding(compaction: CompactionFile, problem: str, **facts: Any) -> Finding:
    return CONTRADICTING_COMPACTION.found(
        f"The log compaction file of the commits {{first}} to {{version}} {problem}.",
        version=compaction.last,
        path=f"_delta_log/{compaction.name}",
        first=compaction.first,
        **facts,
    )
