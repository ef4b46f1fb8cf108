"""Until when what a commit did stays wrong, where it is not for its files or for what it changed in the metadata.

What that depends on besides the finding is taken down in details, by which a later audit can go on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_delta_provider.domain.audit.violations import Details, Remains, Stands
from airflow_delta_provider.domain.checks.actions.in_commit_timestamps import (
    due_enablement,
    has_timestamps,
)
from airflow_delta_provider.domain.checks.actions.row_counts import writes_vectors
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.row_tracking import row_tracking_of
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


def remains(finding: Finding, transition: Transition) -> Remains | None:
    """Return what tells of later commits whether they leave a finding standing; None where nothing but its file can.

    :param transition: the commit that the finding is about
    """
    details = _DETAILS.get(finding.code)
    return remains_by(finding, {} if details is None else details(finding, transition))


def remains_by(finding: Finding, details: Details) -> Remains | None:
    """Return the same by the details that an earlier audit took down.

    :raises KeyError, TypeError, ValueError: if they are not those of such a finding
    """
    made = _STANDS.get(finding.code)
    return None if made is None else Remains(made(finding, details), details)


def needs_details(code: str) -> bool:
    """Whether it takes more than the finding to tell until when a rule is broken."""
    return code in _WITH_DETAILS


def _data_is_gone(finding: Finding, _: Details) -> Stands:
    """AC03: until the file is back, or the table is no longer to be appended to only."""

    def stands(later: Transition) -> bool:
        back = any(file.path == finding.path for file in later.commit.adds)
        return not back and later.after.metadata.properties.append_only

    return stands


def _rows_are_elsewhere(finding: Finding, _: Details) -> Stands:
    """AC09: until the file is back, or all are replaced."""
    return lambda later: (
        not (
            (later.replaces_all and later.commit.removes)
            or any(file.path == finding.path for file in later.commit.adds)
        )
    )


def _rows_may_be_twice(_: Finding, __: Details) -> Stands:
    """AC14: until the version before is back, or all files are replaced."""
    return lambda later: not (later.restores or (later.replaces_all and later.commit.removes))


def _size_before(finding: Finding, transition: Transition) -> Details:
    return {"size": transition.before_files[finding.path or ""].size}


def _size_is_another(finding: Finding, details: Details) -> Stands:
    """AC15: until the file is said to be as large as before."""
    size = details["size"]
    return lambda later: not any(file.path == finding.path and file.size == size for file in later.commit.adds)


def _due_enablement(_: Finding, transition: Transition) -> Details:
    return {"due": dict(due_enablement(transition))}


def _enablement_is_wrong(_: Finding, details: Details) -> Stands:
    """AC11: until the properties are right, or the timestamps are off."""
    due = dict(details["due"]).items()

    def stands(later: Transition) -> bool:
        configuration = later.after.metadata.configuration
        right = due <= configuration.items()
        anew = bool(later.commit.metadata) and not has_timestamps(later.before)
        return has_timestamps(later.after) and not right and not anew

    return stands


def _domain_not_set_again(finding: Finding, _: Details) -> Stands:
    return lambda later: [domain.domain for domain in later.commit.domains].count(finding.subject or "") != 1


def _transaction_not_set_again(finding: Finding, _: Details) -> Stands:
    return lambda later: [str(txn.get("appId")) for txn in later.commit.transactions].count(finding.subject or "") != 1


def _domain_without_feature(finding: Finding, _: Details) -> Stands:
    """AC05: until the feature is there, or the domain is not."""

    def stands(later: Transition) -> bool:
        return not later.after.protocol.supports("domainMetadata") and finding.subject in later.after.domains

    return stands


def _vector_without_feature(finding: Finding, _: Details) -> Stands:
    """AC06: until the feature is there, or the file has no deletion vector."""

    def stands(later: Transition) -> bool:
        whole = any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)
        return not whole and not later.after.protocol.supports("deletionVectors")

    return stands


def _vectors_now(finding: Finding, transition: Transition) -> Details:
    return {"vectors": sorted({file.key[1] for file in transition.commit.adds if file.path == finding.path})}


def _vector_is_there(finding: Finding, details: Details) -> Stands:
    """AC10: until the file is added with another deletion vector, which is judged anew, or without."""
    vectors = set(details["vectors"])
    return lambda later: not any(f.path == finding.path and f.key[1] not in vectors for f in later.commit.adds)


def _vector_not_wanted(finding: Finding, _: Details) -> Stands:
    """AC13: until the file has none, or they are enabled."""

    def stands(later: Transition) -> bool:
        whole = any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)
        return not (whole or writes_vectors(later.after))

    return stands


def mark_is_below(due: int) -> Remains:
    """RT10: until the high water mark is there and is not below ``due``."""
    details = {"due": due}
    return Remains(_mark_is_below(None, details), details)


def _mark_is_below(_: Finding | None, details: Details) -> Stands:
    """RT07, RT10 and RT11: until the high water mark is what it has to be.

    Once ids up to there were given out again, only those files' removal helps, with all others or by a RESTORE.
    """
    due = int(details["due"])

    def stands(later: Transition) -> bool:
        tracking = row_tracking_of(later.after)
        if not tracking.assigns or (later.replaces_all and later.commit.metadata):
            return False
        version = later.commit.version
        given_again = not later.restores and (
            details.get("given_again", False)
            or any(
                file.base_row_id is not None and file.base_row_id <= due
                for file in later.new_files
                if file.default_row_commit_version == version
            )
        )
        details["given_again"] = given_again
        return given_again or (tracking.high_water_mark or 0) < due

    return stands


def _highest_added(_: Finding, transition: Transition) -> Details:
    adds = [file for file in transition.commit.adds if file.base_row_id is not None]
    return {"due": max((file.base_row_id or 0) + max((file.num_records or 0) - 1, 0) for file in adds)}


def _mark_before(_: Finding, transition: Transition) -> Details:
    return {"due": row_tracking_of(transition.before).high_water_mark or 0}


def _ids_before(finding: Finding, transition: Transition) -> Details:
    before = transition.before_files.get(finding.path or "")
    return {"ids": None if before is None else [before.base_row_id, before.default_row_commit_version]}


def _base_is_another(finding: Finding, details: Details) -> Stands:
    """RT14: until the file has its ids back."""
    before = details["ids"]
    return lambda later: (
        not any(
            file.path == finding.path and [file.base_row_id, file.default_row_commit_version] == before
            for file in later.commit.adds
        )
    )


def _names_before(_: Finding, transition: Transition) -> Details:
    before = row_tracking_of(transition.before)
    return {"names": [before.row_id_column, before.commit_version_column]}


def _names_are_others(_: Finding, details: Details) -> Stands:
    """RT17: until the names are those of before, or no file is left that has them."""
    were = list(details["names"])

    def stands(later: Transition) -> bool:
        now = row_tracking_of(later.after)
        return not later.replaces_all and were != [now.row_id_column, now.commit_version_column]

    return stands


def path_is_anothers(finding: Finding, state: TableState) -> Remains:
    """CM16: until no column has the physical path that was another's.

    :param state: in which the column of the finding has it
    """
    try:
        fields = MappedSchema.of(state.metadata).fields
    except BrokenLogError:
        return Remains(lambda _: True, {"path": None})
    path = next((field.path for field in fields if str(field.column) == finding.column), None)
    details: Details = {"path": None if path is None else list(path)}
    return Remains(_path_is_anothers(finding, details), details)


def _path_is_anothers(finding: Finding, details: Details) -> Stands:
    path = None if details["path"] is None else tuple(details["path"])

    def stands(later: Transition) -> bool:
        if path is None or not later.commit.metadata or later.commit.version <= (finding.version or 0):
            return True
        if later.replaces_all:
            return False
        try:
            schema = MappedSchema.of(later.after.metadata)
        except BrokenLogError:
            return True
        return schema.is_mapped and path in schema.by_path

    return stands


#: What a finding does not say, but until when it is so depends on.
_DETAILS: Mapping[str, Callable[[Finding, Transition], Details]] = {
    "AC10": _vectors_now,
    "AC11": _due_enablement,
    "AC15": _size_before,
    "RT07": _highest_added,
    "RT11": _mark_before,
    "RT14": _ids_before,
    "RT17": _names_before,
}
_WITH_DETAILS = frozenset({*_DETAILS, "CM16", "RT10"})
_STANDS: Mapping[str, Callable[[Finding, Details], Stands]] = {
    "AC03": _data_is_gone,
    "AC04": _domain_not_set_again,
    "AC05": _domain_without_feature,
    "AC06": _vector_without_feature,
    "AC07": _transaction_not_set_again,
    "AC09": _rows_are_elsewhere,
    "AC10": _vector_is_there,
    "AC11": _enablement_is_wrong,
    "AC13": _vector_not_wanted,
    "AC14": _rows_may_be_twice,
    "AC15": _size_is_another,
    "CM16": _path_is_anothers,
    "RT07": _mark_is_below,
    "RT10": _mark_is_below,
    "RT11": _mark_is_below,
    "RT14": _base_is_another,
    "RT17": _names_are_others,
}
