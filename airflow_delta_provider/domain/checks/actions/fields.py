"""Actions that are not allowed in commits, and fields of actions that are missing or of a wrong type: AC16 and AC17.

Other modules check protocol and the rest of the metadata, and the fields that identify and locate files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from airflow_delta_provider.domain.checks.actions import FAMILY, RECONCILIATION, UPDATE, WRITE_AGAIN
from airflow_delta_provider.domain.checks.check import on_action, on_commit, on_transition
from airflow_delta_provider.domain.checks.rule import OF_SUBJECT, Details, Healing, RepairMethod, Scope
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.features.log import DOMAIN_METADATA
from airflow_delta_provider.domain.delta.log_files import is_uri
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding


class _Kind(NamedTuple):
    """The kind of a value: its name for people, its type in Python, and a further condition."""

    name: str
    python: type
    fits: Callable[[Any], bool] | None = None


_TEXT = _Kind("a string", str)
_LONG = _Kind("a 64-bit integer", int, lambda value: -(1 << 63) <= value < 1 << 63)
_SIZE = _Kind("a 64-bit integer that is not negative", int, lambda value: 0 <= value < 1 << 63)
_PATH = _Kind("a URI", str, is_uri)
_BOOLEAN = _Kind("true or false", bool)


def _are_texts(values: Mapping[str, Any]) -> bool:
    return all(value is None or isinstance(value, str) for value in values.values())


_TEXTS = _Kind("a map of strings", dict, _are_texts)
_MAP = _Kind("a map", dict)
_FORMAT = _Kind(
    "a map with a map of options", dict, lambda value: isinstance(value.get("options", {}), (dict, type(None)))
)

#: Later than any time in milliseconds.
_LATEST = 1 << 63
#: Fields that few ``add`` actions have.
_UNUSUAL = frozenset({"tags", "clusteringProvider"})
_OF_CHECKPOINTS = frozenset({"sidecar", "checkpointMetadata"})
#: Fields per kind of action that no other module checks. The values that a remove copies are checked in the add.
_FIELDS: Mapping[str, Mapping[str, _Kind]] = {
    "add": {
        "path": _PATH,
        "partitionValues": _TEXTS,
        "size": _SIZE,
        "modificationTime": _SIZE,
        "dataChange": _BOOLEAN,
        "stats": _TEXT,
        "tags": _TEXTS,
        "clusteringProvider": _TEXT,
    },
    "remove": {
        "path": _PATH,
        "dataChange": _BOOLEAN,
        "deletionTimestamp": _SIZE,
        "extendedFileMetadata": _BOOLEAN,
        "partitionValues": _TEXTS,
        "size": _SIZE,
        "stats": _TEXT,
        "tags": _TEXTS,
    },
    "cdc": {"path": _PATH, "partitionValues": _TEXTS, "size": _SIZE, "dataChange": _BOOLEAN, "tags": _TEXTS},
    "txn": {"appId": _TEXT, "version": _LONG, "lastUpdated": _LONG},
    "domainMetadata": {"removed": _BOOLEAN},
    "metaData": {"configuration": _MAP, "format": _FORMAT},
}
#: Required fields; AC08 reports missing partition values of an add.
_REQUIRED: Mapping[str, tuple[str, ...]] = {
    "add": ("modificationTime", "dataChange"),
    "remove": ("dataChange",),
    "cdc": ("path", "partitionValues", "size", "dataChange"),
    "txn": ("appId", "version"),
    "domainMetadata": ("removed",),
}
_LOOKED_AT = {
    kind: [(name, what, name in _REQUIRED.get(kind, ())) for name, what in fields.items()]
    for kind, fields in _FIELDS.items()
}

_READ = (*(f"{kind}.{name}" for kind, fields in _FIELDS.items() for name in fields), *_OF_CHECKPOINTS)


_commit = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Actions")

WRONG_FIELD = _commit.error(
    16,
    "field of an action missing, or of another type",
    name="action-field-missing-or-mistyped",
    effect="Strict readers fail on the table; others take the field for false or 0, so streams skip files.",
    remedy=WRITE_AGAIN,
    shows=OF_SUBJECT,
    repairs=(RepairMethod.FILE_FIELDS, RepairMethod.PARTITION_VALUES),
)
OF_CHECKPOINTS = _commit.warning(
    17,
    "action that only checkpoints may have",
    name="checkpoint-action-in-commit",
    effect="Readers skip it, or refuse the commit.",
    remedy=UPDATE,
    source=RECONCILIATION,
    shows=OF_SUBJECT,
)


@on_action(WRONG_FIELD, OF_CHECKPOINTS, reads=_READ)
def _fields(action: Action) -> Iterator[Finding]:
    """Yield a finding if an action lacks a required field, has a field of a wrong type, or is not allowed in commits.

    :param action: action of a commit, as in the log
    """
    for kind, body in action.items():
        if kind == "add" and _is_usual(body):
            continue
        if kind in _OF_CHECKPOINTS and body is not None:
            yield OF_CHECKPOINTS.found("The commit has a {subject} action.", subject=kind)
        elif kind in _FIELDS and isinstance(body, dict) and (wrong := [*_wrong(kind, body)]):
            yield _finding(kind, body, wrong)


def _is_usual(add: Any) -> bool:
    """Return True if an ``add`` action is like most and needs no further checks. Fast."""
    try:
        time, values = add["modificationTime"], add["partitionValues"]
        return (
            type(add["dataChange"]) is bool
            and type(time) is int
            and 0 <= time < _LATEST
            and add["size"] >= 0
            and is_uri(add["path"])
            and type(values) is dict
            and _are_texts(values)
            and type(add.get("stats", "")) is str
            and add.keys().isdisjoint(_UNUSUAL)
        )
    except (KeyError, TypeError, AttributeError):
        return False


def _wrong(kind: str, body: Mapping[str, Any]) -> Iterator[str]:
    for name, what, required in _LOOKED_AT[kind]:
        value = body.get(name)
        if value is None:
            if required:
                yield f"{name} is missing"
        elif type(value) is not what.python or (what.fits is not None and value != {} and not what.fits(value)):
            yield f"{name} is not {what.name}"
    if kind == "remove" and body.get("extendedFileMetadata") is True:
        missing = (name for name in ("partitionValues", "size") if body.get(name) is None)
        yield from (f"extendedFileMetadata is true, but {name} is missing" for name in missing)


def _finding(kind: str, body: Mapping[str, Any], wrong: list[str]) -> Finding:
    value = body.get("path") if kind in ("add", "remove", "cdc") else None
    path = value if isinstance(value, str) else None
    of = "" if path is None else " of {path}"
    return WRONG_FIELD.found(
        f"In {'an' if kind == 'add' else 'a'} {{subject}} action{of}: {{wrong}}.", path=path, subject=kind, wrong=wrong
    )


_of_domain = FAMILY.of(Scope.COMMIT)


def _domains(commit: Commit) -> list[str]:
    return [domain.domain for domain in commit.domains]


def _applications(commit: Commit) -> list[str]:
    return [str(txn.get("appId")) for txn in commit.transactions]


def _until_once(names: Callable[[Commit], list[str]]) -> Healing:
    """Return the healing of violations that are open until a commit has one action for the finding's subject."""
    return Healing(lambda later, finding, _: names(later.commit).count(finding.subject or "") != 1)


DOMAIN_TWICE = _of_domain.error(
    4,
    "several domainMetadata actions for one domain in a commit",
    name="several-actions-for-one-domain",
    effect="Readers may pick either of them.",
    remedy="Set the domain again in one commit, and update the engine that wrote this one.",
    healing=_until_once(_domains),
    shows="domainMetadata",
    repairs=(RepairMethod.HIGH_WATER_MARK,),
)
TRANSACTION_TWICE = _of_domain.error(
    7,
    "several txn actions for one application in a commit",
    name="several-txn-actions-for-one-application",
    effect="A stream that resumes from there may write data twice, or leave some out.",
    remedy=UPDATE,
    healing=_until_once(_applications),
    shows="txn",
)


@on_commit(DOMAIN_TWICE, TRANSACTION_TWICE, reads=("domainMetadata", "txn.appId"))
def _twice(commit: Commit) -> Iterator[Finding]:
    for rule, names, actions in (
        (DOMAIN_TWICE, _domains, "domainMetadata actions for"),
        (TRANSACTION_TWICE, _applications, "txn actions for the application"),
    ):
        for name, times in Counter(names(commit)).items():
            if times > 1:
                yield rule.found(f"The commit has {{times}} {actions} {{subject}}.", subject=name, times=times)


def _domain_is_not_allowed(later: Transition, finding: Finding, _: Details) -> bool:
    return not later.after.protocol.supports(DOMAIN_METADATA) and finding.subject in later.after.domains


DOMAIN_WITHOUT_FEATURE = _of_domain.error(
    5,
    "domainMetadata without the feature",
    name="domain-metadata-without-feature",
    effect="Writers may silently lose the domain.",
    remedy="Enable the feature: enable-feature --feature domainMetadata (DeltaEnableFeatureOperator).",
    source="PROTOCOL.md, Domain Metadata",
    healing=Healing(_domain_is_not_allowed),
    shows="domainMetadata",
    repairs=(RepairMethod.LISTED_FEATURES, RepairMethod.EARLIER_VALUES),
)


@on_transition(DOMAIN_WITHOUT_FEATURE, reads=("domainMetadata", "protocol"))
def _domain_without_feature(transition: Transition) -> Iterator[Finding]:
    domains = [domain for domain in transition.commit.domains if not domain.removed]
    if domains and not any(state.protocol.supports(DOMAIN_METADATA) for state in (transition.before, transition.after)):
        yield DOMAIN_WITHOUT_FEATURE.found(
            "The commit sets domainMetadata of {subject}, but the protocol ({protocol}) does not have domainMetadata.",
            subject=domains[0].domain,
            protocol=str(transition.after.protocol),
        )
