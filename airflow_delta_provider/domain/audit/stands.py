"""Until when what a commit did stays wrong, where it is not for its files or for what it changed in the metadata."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from airflow_delta_provider.domain.audit.violations import Stands
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.invariants.in_commit_timestamps import (
    due_enablement,
    has_timestamps,
)
from airflow_delta_provider.domain.invariants.row_counts import writes_vectors
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.row_tracking.tracking import row_tracking_of


def remains(finding: Finding, transition: Transition) -> Stands | None:
    """Return what tells of later commits whether they leave a finding standing; None where nothing but its file can.

    :param transition: the commit that the finding is about
    """
    made = _STANDS.get(finding.code)
    return None if made is None else made(finding, transition)


def _data_is_gone(finding: Finding, _: Transition) -> Stands:
    """AC03: until the file is back, or the table is no longer to be appended to only."""

    def stands(later: Transition) -> bool:
        back = any(file.path == finding.path for file in later.commit.adds)
        return not back and later.after.metadata.configuration.get("delta.appendOnly", "").lower() == "true"

    return stands


def _rows_are_elsewhere(finding: Finding, _: Transition) -> Stands:
    """AC09: until the file is back, or all are replaced."""
    return lambda later: (
        not (
            (later.replaces_all and later.commit.removes)
            or any(file.path == finding.path for file in later.commit.adds)
        )
    )


def _rows_may_be_twice(_: Finding, __: Transition) -> Stands:
    """AC14: until the version before is back, or all files are replaced."""
    return lambda later: not (later.restores or (later.replaces_all and later.commit.removes))


def _size_is_another(finding: Finding, transition: Transition) -> Stands:
    """AC15: until the file is said to be as large as before."""
    size = transition.before_files[finding.path or ""].size
    return lambda later: not any(file.path == finding.path and file.size == size for file in later.commit.adds)


def _enablement_is_wrong(finding: Finding, transition: Transition) -> Stands:
    """AC11: until the properties are right, or the timestamps are off."""
    del finding
    due = due_enablement(transition).items()

    def stands(later: Transition) -> bool:
        configuration = later.after.metadata.configuration
        right = due <= configuration.items()
        anew = bool(later.commit.metadata) and not has_timestamps(later.before)
        return has_timestamps(later.after) and not right and not anew

    return stands


def _domain_not_set_again(finding: Finding, _: Transition) -> Stands:
    return lambda later: [domain.domain for domain in later.commit.domains].count(finding.subject or "") != 1


def _transaction_not_set_again(finding: Finding, _: Transition) -> Stands:
    return lambda later: [str(txn.get("appId")) for txn in later.commit.transactions].count(finding.subject or "") != 1


def _domain_without_feature(finding: Finding, _: Transition) -> Stands:
    """AC05: until the feature is there, or the domain is not."""

    def stands(later: Transition) -> bool:
        return not later.after.protocol.supports("domainMetadata") and finding.subject in later.after.domains

    return stands


def _vector_without_feature(finding: Finding, _: Transition) -> Stands:
    """AC06: until the feature is there, or the file has no deletion vector."""

    def stands(later: Transition) -> bool:
        whole = any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)
        return not whole and not later.after.protocol.supports("deletionVectors")

    return stands


def _vector_is_there(finding: Finding, transition: Transition) -> Stands:
    """AC10: until the file is added with another deletion vector, which is judged anew, or without."""
    keys = {file.key for file in transition.commit.adds}
    return lambda later: not any(file.path == finding.path and file.key not in keys for file in later.commit.adds)


def _vector_not_wanted(finding: Finding, _: Transition) -> Stands:
    """AC13: until the file has none, or they are enabled."""

    def stands(later: Transition) -> bool:
        whole = any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)
        return not (whole or writes_vectors(later.after))

    return stands


def mark_is_below(due: int) -> Stands:
    """RT07, RT10 and RT11: until the high water mark is what it has to be.

    Once ids up to there were given out again, only those files' removal helps, with all others or by a RESTORE.
    """
    given_again = False

    def stands(later: Transition) -> bool:
        nonlocal given_again
        tracking = row_tracking_of(later.after)
        if not tracking.assigns or (later.replaces_all and later.commit.metadata):
            return False
        version = later.commit.version
        given_again = not later.restores and (
            given_again
            or any(
                file.base_row_id is not None and file.base_row_id <= due
                for file in later.new_files
                if file.default_row_commit_version == version
            )
        )
        return given_again or (tracking.high_water_mark or 0) < due

    return stands


def _ids_above_mark(finding: Finding, transition: Transition) -> Stands:
    del finding
    adds = [file for file in transition.commit.adds if file.base_row_id is not None]
    return mark_is_below(max((file.base_row_id or 0) + max((file.num_records or 0) - 1, 0) for file in adds))


def _mark_lowered(finding: Finding, transition: Transition) -> Stands:
    del finding
    return mark_is_below(row_tracking_of(transition.before).high_water_mark or 0)


def _base_is_another(finding: Finding, transition: Transition) -> Stands:
    """RT14: until the file has its ids back."""
    before = transition.before_files.get(finding.path or "")

    def stands(later: Transition) -> bool:
        return not any(
            file.path == finding.path
            and before is not None
            and (file.base_row_id, file.default_row_commit_version)
            == (before.base_row_id, before.default_row_commit_version)
            for file in later.commit.adds
        )

    return stands


def _names_are_others(_: Finding, transition: Transition) -> Stands:
    """RT17: until the names are those of before, or no file is left that has them."""
    before = row_tracking_of(transition.before)
    were = (before.row_id_column, before.commit_version_column)

    def stands(later: Transition) -> bool:
        now = row_tracking_of(later.after)
        return not later.replaces_all and were != (now.row_id_column, now.commit_version_column)

    return stands


_STANDS: Mapping[str, Callable[[Finding, Transition], Stands]] = {
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
    "RT07": _ids_above_mark,
    "RT11": _mark_lowered,
    "RT14": _base_is_another,
    "RT17": _names_are_others,
}
