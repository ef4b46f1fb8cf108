"""The metaData action of one version, except its schema: MD01, MD07, MD09, MD13, MD17 and MD26."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_demand, on_state
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.metadata.family import FAMILY, MOST_TEXT
from airflow_delta_provider.domain.checks.metadata.schema import UNKNOWN_TYPE_OR_VALUE
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.metadata import PROVIDER
from airflow_delta_provider.domain.delta.property_values import FORMS, RECOMMENDED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

_state = FAMILY.of(Scope.STATE)

NO_METADATA = _state.error(
    9,
    "no metaData action",
    effect="It is unknown which columns the table has.",
    remedy="Restore the missing log files from a backup or another replica.",
    source="PROTOCOL.md, Action Reconciliation",
    follows_from=causes("MD04", later=True),
)


@on_demand(NO_METADATA)
def no_metadata(version: int) -> Finding:
    """Return the finding about a log without a metaData action up to ``version``."""
    return NO_METADATA.found(
        "There is no metaData action up to version {version}, neither in a commit nor in a checkpoint.", version=version
    )


NO_ID = _state.error(
    1,
    "table id missing",
    effect="Streams, and other readers that remember a table by its id, cannot distinguish it from another one.",
    remedy=Restore(instead="write the metadata again with an engine that assigns an id"),
)


@on_state(NO_ID)
def _no_id(state: TableState) -> Iterator[Finding]:
    if not state.metadata.id:
        yield NO_ID.found("The metaData action has no id.")


FIELD_MISSING = _state.error(
    17,
    "required field missing, or of another type",
    effect="Engines cannot open the table; Delta Spark fails with an internal error.",
    remedy="Restore the log file from a backup, or write a metaData action that has all required fields, with their "
    "types.",
)


@on_state(FIELD_MISSING)
def _fields_missing(state: TableState) -> Iterator[Finding]:
    missing = [name for name in state.metadata.missing if name != PROVIDER]
    for name in state.metadata.not_text_fields:
        yield FIELD_MISSING.found("The {subject} in the metaData action is not a string.", subject=name)
    if missing:
        yield FIELD_MISSING.found(
            "The metaData action lacks {fields:required field}: {missing}.",
            subject=missing[0],
            fields=len(missing),
            missing=missing,
        )
    elif PROVIDER in state.metadata.missing:
        yield FIELD_MISSING.found(
            "The format in the metaData action has no provider.",
            effect="delta-rs and Delta Kernel cannot open the table; Delta Spark assumes Parquet.",
            remedy="Write a metaData action whose format has the provider 'parquet'.",
            subject=PROVIDER,
        )


OTHER_FORMAT = _state.error(
    7,
    "format is not parquet",
    effect="Engines refuse the table, or read its files as plain Parquet.",
    remedy="Copy it into a new table.",
    source="PROTOCOL.md, Format Specification",
)


@on_state(OTHER_FORMAT)
def _other_format(state: TableState) -> Iterator[Finding]:
    metadata = state.metadata
    if metadata.format_provider.lower() != "parquet":
        yield OTHER_FORMAT.found(
            "The format of the data files is {provider!r}, not 'parquet'.", provider=metadata.format_provider
        )
    elif metadata.format_options:
        yield OTHER_FORMAT.found(
            "The format has options, which Parquet tables do not have: {options}.",
            severity=Severity.WARNING,
            effect="Engines ignore them.",
            options=sorted(metadata.format_options),
        )


@on_state(UNKNOWN_TYPE_OR_VALUE)
def _values_other_than_strings(state: TableState) -> Iterator[Finding]:
    if keys := state.metadata.not_texts:
        values = {key: state.metadata.configuration[key] for key in keys}
        shown = ", ".join(f"{key} ({value})" for key, value in values.items())
        yield UNKNOWN_TYPE_OR_VALUE.found(
            "Values of table properties must be strings, but these are not: {shown}.",
            shown=Prose(shown[:MOST_TEXT]),
            values=values,
        )


UNREADABLE_VALUE = FAMILY.of(Scope.STATE).error(
    26,
    "property value that engines cannot read",
    effect="Delta Spark fails when it needs the property, at the latest when it writes; others ignore it.",
    remedy="Set the property again with ALTER TABLE … SET TBLPROPERTIES, or unset it.",
    source="PROTOCOL.md, Table Properties",
)


@on_state(UNREADABLE_VALUE)
def _values(state: TableState) -> Iterator[Finding]:
    for name, value in state.metadata.configuration.items():
        form = FORMS.get(name)
        if form is None or name in state.metadata.not_texts or form.fits(value):
            continue
        yield UNREADABLE_VALUE.found(
            "The property {subject} is {value!r}, not {form}.",
            severity=Severity.WARNING if name in RECOMMENDED else None,
            effect="Writers refuse to write, or fall back to a default." if name in RECOMMENDED else None,
            subject=name,
            value=value[:MOST_TEXT],
            form=form.name,
        )
