"""Whether a commit's actions may be there, and their fields are, and of their types: AC16 and AC17.

PROTOCOL.md, Actions.
Other modules judge protocol and metadata, and what identifies and places files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.rules import actions as rules

#: What a value has to be, for people, and whether one is.
_Type = tuple[str, Callable[[Any], bool]]


def _is_map_of_texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(item is None or isinstance(item, str) for item in value.values())


_TEXT: _Type = ("a text", lambda value: isinstance(value, str))
_LONG: _Type = ("an integer of 64 bits", lambda value: type(value) is int and -(1 << 63) <= value < 1 << 63)
_BOOLEAN: _Type = ("true or false", lambda value: isinstance(value, bool))
_TEXTS: _Type = ("a map of texts", _is_map_of_texts)

_OF_CHECKPOINTS = frozenset({"sidecar", "checkpointMetadata"})
#: By the kind of an action, its fields that other modules do not look at; what a remove copies is judged in the add.
_FIELDS: Mapping[str, Mapping[str, _Type]] = {
    "add": {"partitionValues": _TEXTS, "modificationTime": _LONG, "dataChange": _BOOLEAN, "tags": _TEXTS},
    "remove": {"dataChange": _BOOLEAN, "deletionTimestamp": _LONG, "extendedFileMetadata": _BOOLEAN, "size": _LONG},
    "cdc": {"path": _TEXT, "partitionValues": _TEXTS, "size": _LONG, "dataChange": _BOOLEAN, "tags": _TEXTS},
    "txn": {"appId": _TEXT, "version": _LONG, "lastUpdated": _LONG},
    "domainMetadata": {"removed": _BOOLEAN},
}
#: Those of them that have to be there; AC08 says it of partition values.
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "add": ("modificationTime", "dataChange"),
    "remove": ("dataChange",),
    "cdc": ("path",),
    "txn": ("appId", "version"),
}


def check_actions(actions: Iterable[Action]) -> Iterator[Finding]:
    """Yield which actions lack a field that they must have, have one of another type, or belong elsewhere.

    :param actions: of a commit, as in the log
    """
    for action in actions:
        for kind, body in action.items():
            if kind in _OF_CHECKPOINTS and body is not None:
                yield rules.OF_CHECKPOINTS.finding(
                    f"The commit has a {kind} action, which only checkpoints may have: readers leave it out, or refuse "
                    "the commit. Update the engine that wrote it.",
                    subject=kind,
                )
            elif kind in _FIELDS and isinstance(body, Mapping) and not _is_right(kind, body):
                yield _finding(kind, body, [*_wrong(kind, body)])


def _is_right(kind: str, body: Mapping[str, Any]) -> bool:
    """The same as that nothing is wrong, without a word: a commit may have as many actions as the table has files."""
    required = _REQUIRED.get(kind, ())
    for name, (_, fits) in _FIELDS[kind].items():
        value = body.get(name)
        if (name in required) if value is None else not fits(value):
            return False
    return True


def _wrong(kind: str, body: Mapping[str, Any]) -> Iterator[str]:
    for name, (what, fits) in _FIELDS[kind].items():
        value = body.get(name)
        if value is not None and not fits(value):
            yield f"{name} is not {what}"
        elif value is None and name in _REQUIRED.get(kind, ()):
            yield f"there is no {name}"


def _finding(kind: str, body: Mapping[str, Any], wrong: list[str]) -> Finding:
    path = body.get("path") if kind in ("add", "remove", "cdc") else None
    of = f" of {path}" if isinstance(path, str) else ""
    return rules.WRONG_FIELD.finding(
        f"In {'an' if kind == 'add' else 'a'} {kind} action{of}, {' and '.join(wrong)}: strict readers fail on the "
        "commit, and with it on the table; others take what is missing for false or 0, and a stream of Delta Spark "
        "leaves out files without dataChange. Update the engine that wrote the commit.",
        path=path if isinstance(path, str) else None,
        subject=kind,
    )
