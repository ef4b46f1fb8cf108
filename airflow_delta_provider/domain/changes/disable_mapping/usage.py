"""The usage of column mapping: whether any column of a table was ever renamed or dropped.

``usage_of`` returns a ``UsageAnswer`` with evidence: ``USED`` (with the commits that renamed or dropped columns),
``UNUSED`` or ``UNDETERMINED``. The mapping is unused if all columns have their own names in data files, and files have
no other columns. Then the table's usage-tracking property could be ``false``. If the mapping was disabled, the answer
is about the time before.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from airflow_delta_provider.domain.changes.disable_mapping.column_history import ColumnEvent, ColumnFacts
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey
from airflow_delta_provider.domain.checks.column_mapping import disabling as rules
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.data_type import path_text
from airflow_delta_provider.domain.delta.metadata import MappedField, MappedSchema
from airflow_delta_provider.domain.report.answers import Usage, UsageAnswer, UsagePiece
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.text import listed

#: Number of pieces of evidence of one kind that are listed; the rest is only counted.
_MOST = 20
_GENERATED = re.compile(r"col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def usage_of(
    schema: MappedSchema, known: ColumnFacts, footers: FooterSurvey | None, tracking: Iterable[Finding] = ()
) -> UsageAnswer:
    """Return the usage of column mapping of a table.

    :param schema: schema of the newest version
    :param footers: footers of all live files; None if they were not read
    :param tracking: problems with the table's own usage tracking
    """
    evidence = [_event(event) for event in known.events[:_MOST]]
    if len(known.events) > _MOST:
        evidence.append(_of("more", f"{len(known.events) - _MOST} more columns were renamed or dropped"))
    doubts = list(_doubts(schema, known, footers))
    if known.events:
        answer = Usage.USED
    else:
        answer = Usage.UNDETERMINED if doubts else Usage.UNUSED
        evidence += [] if doubts else [_of("proof", _proof(known))]
    unknown_before = None if answer is Usage.UNUSED else known.unknown_before
    evidence += [*doubts, *(UsagePiece(kind="usage tracking", text=f.message, rule=f.code) for f in tracking)]
    return _answer(answer, schema, known, unknown_before, evidence)


def needs_footers(schema: MappedSchema, known: ColumnFacts) -> bool:
    """Return True if footers decide: there is no other evidence that the mapping is used."""
    if known.events or known.excludes_foreign_columns or known.reused:
        return False
    return not any(_doubts_of_schema(schema))


def undecidable_usage(schema: MappedSchema, known: ColumnFacts, why: Sequence[Finding]) -> UsageAnswer:
    """Return an undetermined answer, for a table whose log does not define its usage."""
    evidence = tuple(_of("log", finding.message) for finding in why)
    return _answer(Usage.UNDETERMINED, schema, known, known.since, evidence)


def _answer(
    answer: Usage, schema: MappedSchema, known: ColumnFacts, unknown_before: int | None, evidence: Iterable[UsagePiece]
) -> UsageAnswer:
    return UsageAnswer(
        answer=answer,
        mode=schema.mode.value,
        known_since=known.since,
        unknown_before=unknown_before,
        evidence=tuple(evidence),
    )


def unknown_usage(table: str, found: UsageAnswer) -> Finding:
    """Return the finding for a table whose usage is undetermined."""
    why = "; ".join(piece.text.rstrip(".") for piece in found.evidence[:5])
    before = found.unknown_before
    if before is None:
        what = f"No commit renamed or dropped a column of {{table}}, but it does not count as {Usage.UNUSED.value}"
    else:
        when = " before version {version}" if before else ""
        what = f"It is unknown whether columns of {{table}} were renamed or dropped{when}"
    kinds = sorted({piece.kind for piece in found.evidence})
    return rules.USAGE_UNKNOWN.found(what + ": {why}.", version=before, table=table, why=Prose(why), evidence_of=kinds)


def fields_with_other_names(schema: MappedSchema) -> list[MappedField]:
    """Return the columns whose names in data files differ from their own."""
    if not schema.is_mapped:
        return []
    return [field for field in schema.fields if field.path != field.column.parts]


def _proof(known: ColumnFacts) -> str:
    if known.excludes_foreign_columns:
        return "the whole history is known, and no commit renamed or dropped a column"
    return "the footers of all live files have only columns of the table"


def _doubts(schema: MappedSchema, known: ColumnFacts, footers: FooterSurvey | None) -> Iterator[UsagePiece]:
    """Yield evidence, though not proof, that the mapping is used."""
    yield from _doubts_of_schema(schema)
    if known.excludes_foreign_columns or (footers is not None and footers.is_clean):
        return
    if known.why_incomplete:
        yield _of("history", known.why_incomplete)
    noted = {event.path for event in known.events}
    for path, version in list(known.left.items())[:_MOST]:
        if not any(path[:length] in noted for length in range(1, len(path) + 1)):
            yield _of("lost path", f"since version {version} no column has the path {path_text(path)} in data files")
    yield from _of_footers(footers)


def _doubts_of_schema(schema: MappedSchema) -> Iterator[UsagePiece]:
    if schema.is_mapped and schema.dropped_count > 0:
        yield _of(
            "id gap",
            f"ids up to {schema.max_column_id} that no column has: {schema.dropped_count}, as after columns were "
            "dropped or the table was replaced or restored",
        )
    renamed = fields_with_other_names(schema)
    foreign = [field for field in renamed if field.name is None or not _is_own(field)]
    if foreign:
        yield _of(
            "foreign physical name",
            f"other names in data files, not generated by an engine, as after a rename: {_columns(foreign)}",
        )
    generated = [field for field in renamed if has_generated_name(field)]
    if generated:
        yield _of(
            "made-up physical name",
            "names in data files that an engine generated, as for every column of a table that is created or altered "
            f"with mapping: {_columns(generated)}. This is not damage, but without mapping such a column would not be "
            "found: to disable mapping, run disable-column-mapping with allow_rewrite=True (--allow-rewrite), which "
            "rewrites the files",
        )


def _of_footers(footers: FooterSurvey | None) -> Iterator[UsagePiece]:
    if footers is None:
        return
    for path, columns in list(footers.foreign.items())[:_MOST]:
        names = listed(map(path_text, columns), 5)
        yield _of("foreign column", f"{path} has {names}, not a column of the table")
    for path, why in list(footers.unread.items())[:_MOST]:
        yield _of("footer", f"{path} cannot be read: {why}")


def has_generated_name(field: MappedField) -> bool:
    """Return True if an engine generated the column's name in data files."""
    return _GENERATED.fullmatch(field.name or "") is not None


def _is_own(field: MappedField) -> bool:
    return field.name == field.column.field.name or has_generated_name(field)


def _columns(fields: Sequence[MappedField]) -> str:
    return listed([str(field.column) for field in fields], 5)


def _event(event: ColumnEvent) -> UsagePiece:
    to = f" to {event.renamed_to}" if event.renamed_to else ""
    known = {"column": event.column, "renamed_to": event.renamed_to, "id": event.id, **event.provenance}
    return UsagePiece(
        kind=event.kind.value,
        text=f"version {event.version} {event.kind.value} {event.column}{to}",
        physical_path=event.path,
        **{key: value for key, value in known.items() if value is not None},
    )


def _of(kind: str, text: str) -> UsagePiece:
    return UsagePiece(kind=kind, text=text)
