"""Log compaction files, compared with the commits that they stand for: LG12. PROTOCOL.md, Log Compaction Files."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.log import rules
from airflow_delta_provider.domain.delta.commit import Action, ActionValue, parse_commit, read_actions
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.log_files import BrokenLogError, CompactionFile
from airflow_delta_provider.domain.report.finding import Finding

_KINDS = ("protocol", "metaData", "domainMetadata", "txn", "add", "remove")
#: What an action is about, of which the newest counts: a kind with a domain, an application or a file.
_Key = tuple[str, Hashable]


def check_compaction(
    compaction: CompactionFile, content: bytes, commits: Iterable[Sequence[Action]]
) -> Iterator[Finding]:
    """Yield how a log compaction file contradicts its commits.

    :param commits: their actions, oldest first
    :raises BrokenLogError: if a commit is malformed
    """
    expected: dict[_Key, ActionValue] = {}
    #: What the commits first speak of by adding it: nobody misses the word that it went again.
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
        yield _finding(compaction, f"cannot be read: {error}")
        return
    needed = {key for key, value in expected.items() if not (_is_gone(value) and key in born)}
    wrong = [
        f"{what} {_listed(keys)}"
        for what, keys in (
            ("it lacks", [key for key in needed if key not in found]),
            ("only it has", [key for key in found if key not in expected]),
            ("it says something else of", [k for k in found if k in expected and not _agree(found[k], expected[k])]),
            ("it has twice", list(twice)),
        )
        if keys
    ]
    if wrong:
        yield _finding(compaction, f"contradicts them: {'; '.join(wrong)}")


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


def _finding(compaction: CompactionFile, problem: str) -> Finding:
    return rules.CONTRADICTING_COMPACTION.finding(
        f"The log compaction file of the commits {compaction.first} to {compaction.last} {problem}. Readers that use "
        "it see another table than those that read the commits, or fail. Delete it: it only saves readers work.",
        version=compaction.last,
        path=f"_delta_log/{compaction.name}",
    )
