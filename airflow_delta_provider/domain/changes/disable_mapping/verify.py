"""Comparison of a table before and after its column mapping was disabled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.changes.disable_mapping.proof import disable_in_metadata
from airflow_delta_provider.domain.changes.disable_mapping.usage import listed
from airflow_delta_provider.domain.changes.explain import files_text
from airflow_delta_provider.domain.checks import disable_mapping as rules
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.column import path_text
from airflow_delta_provider.domain.delta.commit import Action, changes_metadata
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_properties import COLUMN_MAPPING_MODE, MAX_COLUMN_ID
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding


def verify_disabled(before: TableState, after: TableState, *, rewritten: bool) -> Iterator[Finding]:
    """Yield differences from the expected table after the commit that disabled its mapping.

    :param before: state before the commit, with its files
    :param after: state after the commit, with its files
    """
    expected = disable_in_metadata(before.metadata)
    wrong = [f"{what} changed" for what in _differences(expected, after.metadata)]
    if not rewritten:
        if before.protocol != after.protocol:
            wrong.append("the protocol changed")
        lost, added = (
            (before.files or {}).keys() - (after.files or {}),
            (after.files or {}).keys() - (before.files or {}),
        )
        wrong += [f"it removed {files_text(len(lost))}"] if lost else []
        wrong += [f"it added {files_text(len(added))}"] if added else []
    for what in wrong:
        yield _changed("{difference}", after.version, before.version, difference=what)


def _changed(what: str, version: int, good: int | None = None, remedy: str = "", **known: Any) -> Finding:
    """Return the finding for a difference since the mapping was disabled.

    :param good: version before the commit; None for the one just before ``version``
    :param remedy: alternative to restoring that version
    """
    return rules.NOT_AS_BEFORE.found(
        f"Version {{version}} disabled the column mapping, but {what}.",
        remedy=f"RESTORE the table to version {version - 1 if good is None else good}{remedy}.",
        version=version,
        **known,
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
    """Return the properties except the mapping's own: mode none is the same as no mode."""
    return {
        key: value for key, value in metadata.configuration.items() if key not in (COLUMN_MAPPING_MODE, MAX_COLUMN_ID)
    }


def rebased_over(commits: Iterable[tuple[int, Sequence[Action]]], version: int) -> Iterator[Finding]:
    """Yield commits that the commit of ``version`` must not have been rebased over.

    :param commits: commits between the version of the proof and ``version``
    """
    for between, actions in commits:
        if changes_metadata(actions):
            yield _changed(
                "as of a version before {between}, which changed metadata or protocol: that change is lost",
                version,
                between=between,
            )


def foreign_files(survey: FooterSurvey, version: int) -> Iterator[Finding]:
    """Yield files with foreign columns that were added while the mapping was disabled."""
    for path, columns in survey.foreign.items():
        yield _changed(
            "in the meantime another writer added {path}, which has {columns}, not a column of the table: a new column "
            "of that name would get these values",
            version,
            remedy=", or do not add such a column before the file is rewritten",
            path=path,
            columns=listed([path_text(column) for column in columns]),
        )


def nulls_differ(
    before: Mapping[tuple[str, ...], int | None], after: Mapping[tuple[str, ...], int | None], version: int
) -> Iterator[Finding]:
    """Yield columns whose number of nulls in the same files differs without the mapping."""
    for parts, count in before.items():
        now = after.get(parts)
        if count is not None and count != now:
            yield _changed(
                "{column} has {now} nulls in the data files since then, {before} before",
                version,
                column=path_text(parts),
                now=now,
                before=count,
            )


def unread_files(survey: FooterSurvey, version: int) -> Iterator[Finding]:
    """Yield files that could not be read, so whether they read as before is unknown."""
    for path, why in survey.unread.items():
        yield rules.NOT_VERIFIED.found(
            "{path} could not be read after version {version} disabled the column mapping: {why}.",
            version=version,
            path=path,
            why=Prose(why),
        )


def rows_differ(
    before: tuple[int, Mapping[str, int]], after: tuple[int, Mapping[str, int]], version: int
) -> Iterator[Finding]:
    """Yield columns whose values, over all rows, differ from the previous version.

    :param before: number of rows, and a checksum of the values by column
    """
    if before[0] != after[0]:
        yield _changed("the table has {now:row} since then, {before} before", version, now=after[0], before=before[0])
    for name, total in before[1].items():
        if after[1].get(name) != total:
            yield _changed("{column} has other values since then", version, column=path_text([name]))
