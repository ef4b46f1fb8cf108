"""What has to hold of the metaData action: MD01, MD07, MD09, MD13, MD17, MD18, and what :mod:`.schema` judges.

Commits are judged in :mod:`.metadata_changes`. PROTOCOL.md, Change Metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from airflow_delta_provider.domain.checks.check import on_state
from airflow_delta_provider.domain.checks.metadata import rules
from airflow_delta_provider.domain.checks.metadata.metadata_changes import check_first, check_transition
from airflow_delta_provider.domain.checks.metadata.schema import check_columns, check_readable
from airflow_delta_provider.domain.delta.metadata import PROVIDER
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

__all__ = ["check_first", "check_state", "check_transition", "no_metadata"]

_MOST_TEXT = 300
_IDENTITY = "delta.identity"
_NUMBERS = ("start", "step", "highWaterMark")
_NUMBER = (int, type(None))


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with the metadata of ``state``."""
    for rule in _RULES:
        yield from rule(state)


def no_metadata(version: int) -> Finding:
    """Return the finding about a log without a metaData action up to ``version``: MD09."""
    return rules.NO_METADATA.finding(
        f"There is no metaData action up to version {version}, neither in a commit nor in a checkpoint: nobody can "
        "tell which columns the table has. Restore the missing files of the log from a backup or another replica.",
        version=version,
    )


def _no_id(state: TableState) -> Iterator[Finding]:
    if not state.metadata.id:
        yield rules.NO_ID.finding(
            "The metaData action has no id: readers that remember the table by its id, such as streams, cannot tell "
            "it from another one. RESTORE the table to the version before, or write the metadata again with an engine "
            "that gives it one.",
            version=state.version,
        )


def _identities(state: TableState) -> Iterator[Finding]:
    if _IDENTITY not in state.metadata.schema_string:
        return
    for column in state.metadata.readable_columns or ():
        said = {name: column.field.metadata.get(f"{_IDENTITY}.{name}") for name in _NUMBERS}
        wrong = [f"{name} is {value!r:.{_MOST_TEXT}}" for name, value in said.items() if type(value) not in _NUMBER]
        wrong += ["step is 0"] if said["step"] == 0 else []
        if wrong and column.kinds[-1] == "field":
            yield rules.BROKEN_IDENTITY.finding(
                f"The identity column {column} cannot give out values: its {' and its '.join(wrong)}. Engines fail to "
                "write rows, or give all of them the same value. RESTORE the table to the version before.",
                version=state.version,
                column=str(column),
            )


def _fields_missing(state: TableState) -> Iterator[Finding]:
    missing = [name for name in state.metadata.missing if name != PROVIDER]
    if missing:
        yield rules.FIELD_MISSING.finding(
            f"The metaData action has no {' and no '.join(missing)}, which every one must have: engines cannot open "
            "the table, Delta Spark ends with an internal error. Bring the file of the log back from a backup, or "
            "write a metaData action that has all required fields.",
            version=state.version,
            subject=missing[0],
        )
    elif state.metadata.missing:
        finding = rules.FIELD_MISSING.finding(
            "The format in the metaData action names no provider: delta-rs cannot open the table, Delta Spark takes it "
            "for Parquet. Write a metaData action whose format has the provider 'parquet'.",
            version=state.version,
            subject=PROVIDER,
        )
        yield replace(finding, severity=Severity.WARNING)


def _other_format(state: TableState) -> Iterator[Finding]:
    metadata = state.metadata
    if metadata.format_provider.lower() != "parquet":
        what = f"The format of the data files is {metadata.format_provider!r}, not 'parquet'"
    elif metadata.format_options:
        what = f"The format has options: {', '.join(sorted(metadata.format_options))}"
    else:
        return
    yield rules.OTHER_FORMAT.finding(
        f"{what}. Engines of today write Parquet without options only, and either refuse such a table or read "
        "its files as Parquet all the same. Copy it into a new table.",
        version=state.version,
    )


def _values_that_are_no_texts(state: TableState) -> Iterator[Finding]:
    if keys := state.metadata.not_texts:
        values = ", ".join(f"{key} ({state.metadata.configuration.get(key)})" for key in keys)
        yield rules.UNKNOWN_TYPE_OR_VALUE.finding(
            f"Table properties are texts, but these are none in the metaData action: {values[:_MOST_TEXT]}. Strict "
            "readers cannot parse the action, and with it the table. Set these properties again with ALTER TABLE … "
            "SET TBLPROPERTIES.",
            version=state.version,
        )


_RULES: tuple[Callable[[TableState], Iterator[Finding]], ...] = (
    _no_id,
    _fields_missing,
    check_readable,
    _other_format,
    _values_that_are_no_texts,
    check_columns,
    _identities,
)
