"""What has to hold of the numbers of rows that a commit adds and removes, and deletes by vectors: AC09, AC10, AC13."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.checks.actions import rules
from airflow_delta_provider.domain.delta.features.data_files import DELETION_VECTORS
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_properties import ENABLE_DELETION_VECTORS
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_RESTORE = "RESTORE the table to the version before"


def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit does to numbers of rows that it must not."""
    yield from _rows_not_kept(transition)
    if any(file.deletion_vector is not None for file in transition.commit.adds):
        yield from _wrong_cardinality(transition)
        yield from _not_enabled(transition)


def _rows_not_kept(transition: Transition) -> Iterator[Finding]:
    commit = transition.commit
    changes = [file.data_change for file in commit.adds] + [file.data_change for file in commit.removes]
    if not commit.removes or any(changes):
        return
    gone = transition.before_files.values()
    if not {file.key for file in commit.removes} <= {file.key for file in gone}:
        return  # of a file that was not live nobody knows the rows
    before, after = _rows(gone), _rows({file.key: file for file in commit.adds}.values())
    if before is None or after is None or before == after:
        return
    lost = before - after
    yield rules.ROWS_NOT_KEPT.finding(
        f"All files of the commit are marked as changing no data (dataChange is false), but those that it removes had "
        f"{before} rows, and those that it adds have {after}: {abs(lost)} row{'s' if abs(lost) > 1 else ''} "
        f"{'vanished' if lost > 0 else 'appeared'} without a trace for whoever follows the table, unless numRecords "
        f"of one of them is wrong. {_RESTORE}.",
        path=commit.removes[0].path,
        **commit.provenance,
    )


def _rows(files: Iterable[LiveFile]) -> int | None:
    """Return how many rows files have that are not deleted; None where the log does not say."""
    rows = 0
    for file in files:
        if file.num_records is None:
            return None
        rows += file.num_records - (file.deletion_vector.cardinality if file.deletion_vector else 0)
    return rows


def _wrong_cardinality(transition: Transition) -> Iterator[Finding]:
    for file in transition.commit.adds:
        vector, rows = file.deletion_vector, file.num_records
        if vector is None or (rows is not None and vector.cardinality <= rows):
            continue
        said = "does not say how many rows the file has" if rows is None else f"says that the file has {rows} rows"
        yield rules.WRONG_CARDINALITY.finding(
            f"The commit adds {file.path} with a deletion vector of {vector.cardinality} rows, but {said}: engines "
            f"that count rows by statistics answer wrongly, and strict ones refuse the table. {_RESTORE} and write "
            "the change again.",
            path=file.path,
            **transition.commit.provenance,
        )
        return


def _not_enabled(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before, transition.after
    if (
        transition.restores
        or not after.protocol.supports(DELETION_VECTORS)
        or before.metadata.properties.deletion_vectors
        or after.metadata.properties.deletion_vectors
    ):
        return
    for file in transition.commit.adds:
        live = transition.before_files.get(file.path)
        if file.deletion_vector is None or live is None or live.key == file.key:
            continue  # with its rows it came from elsewhere, or as it was
        had = 0 if live.deletion_vector is None else live.deletion_vector.cardinality
        if file.deletion_vector.cardinality > had:
            yield rules.VECTOR_NOT_ENABLED.finding(
                f"{ENABLE_DELETION_VECTORS} is not true, but the commit deletes rows of {file.path} by a deletion "
                "vector: the table has those again that its owner has turned off, or never turned on. REORG TABLE … "
                "APPLY (PURGE) takes it away.",
                path=file.path,
                **transition.commit.provenance,
            )
            return
