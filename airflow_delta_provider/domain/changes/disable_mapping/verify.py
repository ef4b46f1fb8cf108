"""Judging a table after its column mapping was taken away, against what it was before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.proof import disable_in_metadata
from airflow_delta_provider.domain.changes.disable_mapping.usage import listed
from airflow_delta_provider.domain.changes.explain import files_text
from airflow_delta_provider.domain.checks import disable_mapping as rules
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


def verify_disabled(before: TableState, after: TableState, *, rewritten: bool) -> Iterator[Finding]:
    """Yield how the table differs from what it has to be after the commit that took its mapping away.

    :param before: the state that the commit follows, with its files
    :param after: the state that it leads to, likewise
    """
    expected = disable_in_metadata(before.metadata)
    wrong = [f"{what} is not what it was" for what in _differences(expected, after.metadata)]
    if not rewritten:
        if before.protocol != after.protocol:
            wrong.append("the protocol is not what it was")
        lost, added = (
            (before.files or {}).keys() - (after.files or {}),
            (after.files or {}).keys() - (before.files or {}),
        )
        wrong += [f"it removed {files_text(len(lost))}"] if lost else []
        wrong += [f"it added {files_text(len(added))}"] if added else []
    for what in wrong:
        yield rules.NOT_AS_BEFORE.finding(
            f"Version {after.version} took the column mapping away, but {what}. RESTORE the table to version "
            f"{before.version}.",
            version=after.version,
        )


def _differences(expected: Metadata, actual: Metadata) -> Iterator[str]:
    if expected.schema != actual.schema:
        yield "the schema without its mapping"
    if _settings(expected) != _settings(actual):
        yield "the configuration, the mapping left out,"
    if MAX_COLUMN_ID in actual.configuration or MappedSchema.of(actual).is_mapped:
        yield f"{COLUMN_MAPPING_MODE} or {MAX_COLUMN_ID} is still set: the configuration"
    same = ("id", "partition_columns", "name", "description", "format_provider", "format_options", "created_time")
    for name in same:
        if getattr(expected, name) != getattr(actual, name):
            yield f"{name} of the metadata"


def _settings(metadata: Metadata) -> dict[str, str]:
    """Return the properties; that the mode is said to be none is the same as none said."""
    return {
        key: value for key, value in metadata.configuration.items() if key not in (COLUMN_MAPPING_MODE, MAX_COLUMN_ID)
    }


def rebased_over(commits: Iterable[tuple[int, Sequence[Action]]], version: int) -> Iterator[Finding]:
    """Yield the commits that the one of ``version`` must not have been rebased over.

    :param commits: those between the version of the proof and ``version``
    """
    for between, actions in commits:
        if changes_metadata(actions):
            yield rules.NOT_AS_BEFORE.finding(
                f"Version {version} took the column mapping away as of a version before {between}, which changed "
                f"metadata or protocol: what that changed is lost. RESTORE the table to version {version - 1}.",
                version=version,
            )


def foreign_files(survey: FooterSurvey, version: int) -> Iterator[Finding]:
    """Yield the files that came while the mapping was taken away, and hold columns that the table has not."""
    for path, columns in survey.foreign.items():
        yield rules.NOT_AS_BEFORE.finding(
            f"While version {version} took the column mapping away, another writer added {path}, which holds "
            f"{listed([path_text(column) for column in columns])}, no column of the table: the next column of that "
            f"name gets these values. RESTORE the table to version {version - 1}, or add no such column before the "
            "file is rewritten.",
            version=version,
            path=path,
        )


def nulls_differ(
    before: Mapping[tuple[str, ...], int | None], after: Mapping[tuple[str, ...], int | None], version: int
) -> Iterator[Finding]:
    """Yield the columns of which the same files do not give as many nulls with and without the mapping."""
    for parts, count in before.items():
        now = after.get(parts)
        if count is not None and count != now:
            yield rules.NOT_AS_BEFORE.finding(
                f"{path_text(parts)} has another number of nulls in the data files since version {version} took the "
                f"column mapping away: {now}, and {count} before. RESTORE the table to version {version - 1}.",
                version=version,
                column=path_text(parts),
            )


def unread_files(survey: FooterSurvey, version: int) -> Iterator[Finding]:
    """Yield the files of which nobody can tell whether they read as before."""
    for path, why in survey.unread.items():
        yield rules.NOT_VERIFIED.finding(
            f"{path} could not be looked into after version {version} took the column mapping away: {why}.",
            version=version,
            path=path,
        )


def rows_differ(
    before: tuple[int, Mapping[str, int]], after: tuple[int, Mapping[str, int]], version: int
) -> Iterator[Finding]:
    """Yield the columns whose values, all rows read, are not those of the version before.

    :param before: the number of rows, and a sum over the values of each column
    """
    if before[0] != after[0]:
        yield rules.NOT_AS_BEFORE.finding(
            f"The table has another number of rows since version {version} took the column mapping away: {after[0]}, "
            f"and {before[0]} before. RESTORE the table to version {version - 1}.",
            version=version,
        )
    for name, total in before[1].items():
        if after[1].get(name) != total:
            yield rules.NOT_AS_BEFORE.finding(
                f"{path_text([name])} has other values since version {version} took the column mapping away. RESTORE "
                f"the table to version {version - 1}.",
                version=version,
                column=path_text([name]),
            )
