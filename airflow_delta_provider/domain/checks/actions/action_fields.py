"""Whether a commit's actions may be there, and their fields are, and of their types: AC16 and AC17.

PROTOCOL.md, Actions.
Other modules judge protocol and metadata, and what identifies and places files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.actions import rules
from airflow_delta_provider.domain.checks.check import on_action
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.report.finding import Finding


class _Kind(NamedTuple):
    """What a value has to be: for people, its type in Python, and what else holds of it."""

    name: str
    python: type
    fits: Callable[[Any], bool] | None = None


_TEXT = _Kind("a text", str)
_LONG = _Kind("an integer of 64 bits", int, lambda value: -(1 << 63) <= value < 1 << 63)
_BOOLEAN = _Kind("true or false", bool)
_TEXTS = _Kind("a map of texts", dict, lambda value: all(i is None or isinstance(i, str) for i in value.values()))

_OF_CHECKPOINTS = frozenset({"sidecar", "checkpointMetadata"})
#: By the kind of an action, its fields that other modules do not look at; what a remove copies is judged in the add.
_FIELDS: Mapping[str, Mapping[str, _Kind]] = {
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
_LOOKED_AT = {
    kind: [(name, what, name in _REQUIRED.get(kind, ())) for name, what in fields.items()]
    for kind, fields in _FIELDS.items()
}


@on_action()
def check_action(action: Action) -> Iterator[Finding]:
    """Yield whether an action lacks a field that it must have, has one of another type, or belongs elsewhere.

    :param action: of a commit, as in the log
    """
    for kind, body in action.items():
        if kind in _OF_CHECKPOINTS and body is not None:
            yield rules.OF_CHECKPOINTS.finding(
                f"The commit has a {kind} action, which only checkpoints may have: readers leave it out, or refuse "
                "the commit. Update the engine that wrote it.",
                subject=kind,
            )
        elif kind in _FIELDS and isinstance(body, dict) and (wrong := [*_wrong(kind, body)]):
            yield _finding(kind, body, wrong)


def _wrong(kind: str, body: Mapping[str, Any]) -> Iterator[str]:
    for name, what, required in _LOOKED_AT[kind]:
        value = body.get(name)
        if value is None:
            if required:
                yield f"there is no {name}"
        elif type(value) is not what.python or (what.fits is not None and value and not what.fits(value)):
            yield f"{name} is not {what.name}"


def _finding(kind: str, body: Mapping[str, Any], wrong: list[str]) -> Finding:
    said = body.get("path") if kind in ("add", "remove", "cdc") else None
    path = said if isinstance(said, str) else None
    of = "" if path is None else f" of {path}"
    return rules.WRONG_FIELD.finding(
        f"In {'an' if kind == 'add' else 'a'} {kind} action{of}, {' and '.join(wrong)}: strict readers fail on the "
        "commit, and with it on the table; others take what is missing for false or 0, and a stream of Delta Spark "
        "leaves out files without dataChange. Update the engine that wrote the commit.",
        path=path,
        subject=kind,
    )
