"""Single data files and deletion vectors: DF01 to DF05, DF12, DF13; rewritten rows: DF10."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.data_files import FAMILY
from airflow_delta_provider.domain.checks.rule import FileAspect, Prose, RepairMethod, Restore, Rule, Scope
from airflow_delta_provider.domain.delta.data_type import path_text
from airflow_delta_provider.domain.delta.deletion_vector import LargeDeletionVectorError
from airflow_delta_provider.domain.delta.row_condition import ConditionKind, RowCondition
from airflow_delta_provider.domain.report.report import Finding, Severity

_AFTER_LOSS = Restore(instead="restore the file from a backup", of_file=True)
_OF_ANOTHER_TABLE = (
    "The table is a shallow clone, or uses files of another table: bring the file back from a backup of that "
    "table. If there is none, DELETE the rows of the missing files, or make the table again with CREATE OR REPLACE "
    "TABLE … SHALLOW CLONE, which loses its own rows: copy those first."
)
_data = FAMILY.of(Scope.DATA)

MISSING = _data.error(
    1,
    "data file missing",
    name="data-file-missing",
    effect="Reading the table fails.",
    remedy=_AFTER_LOSS,
    source="PROTOCOL.md, Add File and Remove File",
    repairs=(RepairMethod.MISSING_FILE,),
)


@on_demand(MISSING)
def missing_file(path: str) -> Finding:
    if "://" in path or path.startswith(("/", "file:")):
        return MISSING.found(
            "{path} is part of the table and of another one, and the file does not exist.",
            remedy=_OF_ANOTHER_TABLE,
            path=path,
        )
    return MISSING.found("{path} is part of the table, but the file does not exist.", path=path)


DAMAGED = _data.error(
    2,
    "data file damaged",
    name="data-file-damaged",
    effect="Reading the file, and with it the table, fails.",
    remedy=_AFTER_LOSS,
    source="PROTOCOL.md, Data Files",
)


@on_demand(DAMAGED)
def damaged_file(path: str, problem: object) -> Finding:
    return DAMAGED.found("{path} cannot be read: {problem}.", path=path, problem=Prose(problem))


ROW_COUNT = _data.error(
    3,
    "numRecords is not the file's row count",
    name="row-count-differs-from-file",
    effect="Engines that count or skip by statistics return wrong results, and row ids may be assigned twice.",
    remedy="Rewrite the file by Delta Spark: UPDATE … SET c = c without a condition. OPTIMIZE keeps a file that it "
    "does not combine with others.",
    source="PROTOCOL.md, Per-file Statistics",
    blames=FileAspect.ROW_COUNT,
    repairs=(RepairMethod.STATISTICS,),
)


@on_demand(ROW_COUNT)
def wrong_row_count(path: str, rows: int, num_records: int) -> Finding:
    """Return the finding about a file whose number of rows differs from its statistics."""
    return ROW_COUNT.found(
        "{path} has {rows:row}, but numRecords in its statistics is {num_records}.",
        path=path,
        rows=rows,
        num_records=num_records,
    )


DELETION_VECTOR = _data.error(
    4,
    "deletion vector cannot be read",
    name="deletion-vector-unreadable",
    effect="It is unknown which rows of the file are deleted, and reading the table fails.",
    remedy=Restore(instead="restore the file of the vector from a backup"),
    source="PROTOCOL.md, Deletion Vectors",
    blames=FileAspect.DELETION_VECTOR,
)


@on_demand(DELETION_VECTOR)
def unreadable_vector(path: str, problem: str | Exception) -> Finding:
    """Return the finding about a file whose deletion vector cannot be read, or is too large to be read here."""
    if isinstance(problem, LargeDeletionVectorError):
        return DELETION_VECTOR.found(
            "The deletion vector of {path} was not read: {problem}.",
            severity=Severity.UNDECIDED,
            effect="The rows of the file were not checked. The vector may be undamaged.",
            remedy="If other engines read the table, report this as a bug in the provider.",
            path=path,
            problem=Prose(problem),
        )
    return DELETION_VECTOR.found(
        "The deletion vector of {path} cannot be read: {problem}.", path=path, problem=Prose(problem)
    )


ENCRYPTED = _data.undecided(
    5,
    "data file encrypted",
    name="data-file-encrypted",
    effect="The rows of the file are not part of the proof; readers that have its keys are unaffected.",
    remedy="Rewrite the file without encryption if its rows have to be part of the proof.",
)


@on_demand(ENCRYPTED)
def encrypted_file(path: str, problem: object) -> Finding:
    return ENCRYPTED.found("{path} cannot be inspected: {problem}.", path=path, problem=Prose(problem))


OUTSIDE = _data.undecided(
    12,
    "data file outside the table's border",
    name="data-file-outside-allowed-locations",
    effect="The file was not read, so it is unknown whether it is as the log describes it.",
    remedy="If the table may use this place, as a shallow clone does, add it to [delta_provider] allowed_locations "
    "(--allowed-location), together with the table's own location.",
    source="PROTOCOL.md, Add File and Remove File",
)
UNREAD = _data.undecided(
    13,
    "data file cannot be accessed",
    name="data-file-not-accessible",
    effect="The file was not read, so it is unknown whether it is as the log describes it.",
    remedy="Give the job access to the file, and check that it is a regular file.",
)


@on_demand(OUTSIDE, UNREAD)
def unread_file(path: str, problem: str, remedy: str | None, *, outside: bool, vector: bool = False) -> Finding:
    """Return the finding about a file that the job cannot or must not read.

    :param outside: True if the job must not read it, False if it cannot
    :param vector: True if it is the file of the deletion vector
    """
    what = "The deletion vector of {path}" if vector else "{path}"
    rule = OUTSIDE if outside else UNREAD
    return rule.found(f"{what} was not read: {{problem}}.", remedy=remedy, path=path, problem=Prose(problem))


ROWS_DIFFER = FAMILY.of(Scope.OUTCOME).error(
    10,
    "rewritten rows are not the rows before",
    name="rewrite-changes-rows",
    effect="The files were not committed; readers see the table as it was.",
    remedy="Report the engine that wrote them; VACUUM deletes the files.",
)


@on_demand(ROWS_DIFFER)
def rewritten_otherwise(
    table: str, expected: tuple[int, Mapping[str, int]], found: tuple[int, Mapping[str, int]]
) -> Iterator[Finding]:
    """Yield findings if the rows of new files differ from the expected rows.

    :param expected: number of rows, and a checksum of the values of each column
    :param found: the same for the new files
    """
    if expected[0] != found[0]:
        yield ROWS_DIFFER.found(
            "The new files for {table} have {now:row} instead of {before}.",
            table=table,
            now=found[0],
            before=expected[0],
        )
    for name, total in expected[1].items():
        if found[1].get(name) != total:
            yield ROWS_DIFFER.found(
                "In the new files for {table}, {column} has other values than the cast returns.",
                table=table,
                column=path_text((name,)),
            )


#: Maximum number of characters shown of an expression.
_MOST_TEXT = 300
_of_rows = FAMILY.of(Scope.DATA, remedy="Correct or delete the rows, and update the engine that wrote them.")


class BrokenCondition(NamedTuple):
    """A condition that rows of a file do not satisfy.

    :param path: path of the file, as in the log
    :param rows: number of rows that do not satisfy it
    :param certain: True if other engines get the same result; otherwise ``depends`` of the condition gives the cause
    """

    condition: RowCondition
    path: str
    rows: int
    certain: bool = True


CONSTRAINT_BROKEN = _of_rows.error(
    6,
    "rows that break a constraint",
    name="rows-break-constraint",
    effect="Queries that rely on the constraint return wrong results, and writers that rewrite the rows fail.",
    source="PROTOCOL.md, CHECK Constraints and Column Invariants",
)
NULL_NOT_ALLOWED = _of_rows.error(
    7,
    "NULL in a column that cannot be null",
    name="null-in-non-nullable-column",
    effect="Readers fail on the rows or take the NULL for a value, and queries for NULL miss it.",
    source="PROTOCOL.md, Struct Field",
)
OTHER_THAN_GENERATED = _of_rows.error(
    8,
    "value of a generated column differs from its expression",
    name="generated-value-differs-from-expression",
    effect="Engines that derive filters from the expression skip the rows.",
    source="PROTOCOL.md, Generated Columns",
)
CONDITION_NOT_EVALUATED = _of_rows.undecided(
    9,
    "condition on rows that could not be checked",
    name="row-condition-not-checked",
    effect="Rows may break it.",
    remedy="Check the rows with the engine that wrote them; if the condition depends on a time zone, audit with the "
    "time zone of the writer (spark.sql.session.timeZone).",
    source="PROTOCOL.md, CHECK Constraints, Column Invariants and Generated Columns",
)
_RULES: dict[ConditionKind, Rule] = {
    ConditionKind.CHECK: CONSTRAINT_BROKEN,
    ConditionKind.INVARIANT: CONSTRAINT_BROKEN,
    ConditionKind.NOT_NULL: NULL_NOT_ALLOWED,
    ConditionKind.GENERATED: OTHER_THAN_GENERATED,
}
_MESSAGES = {
    ConditionKind.CHECK: "{path} has {rows:row} that {subject}, {expression!r}, does not allow",
    ConditionKind.INVARIANT: "{path} has {rows:row} that {subject}, {expression!r}, does not allow",
    ConditionKind.NOT_NULL: "{path} has {rows:row} with NULL in {column}, which is NOT NULL",
    ConditionKind.GENERATED: "{path} has {rows:row} whose {column} differs from {expression!r}, which generates it",
}


@on_demand(CONSTRAINT_BROKEN, NULL_NOT_ALLOWED, OTHER_THAN_GENERATED, CONDITION_NOT_EVALUATED)
def broken_condition(found: BrokenCondition, since: int | None = None) -> Finding:
    """Return the finding about rows that do not satisfy a condition.

    :param since: version that added the condition, if it is newer than the file
    """
    condition = found.condition
    rule = _RULES[condition.kind] if found.certain else CONDITION_NOT_EVALUATED
    older = "" if since is None else "; the file is older than the condition, which version {version} added"
    doubt = "" if found.certain else ", as far as this session can tell: {depends}"
    return rule.found(
        f"{_MESSAGES[condition.kind]}{doubt}{older}.",
        version=since,
        path=found.path,
        column=condition.column,
        subject=condition.holder,
        rows=found.rows,
        expression=condition.expression[:_MOST_TEXT],
        depends=Prose(condition.depends or ""),
    )


@on_demand(CONDITION_NOT_EVALUATED)
def not_evaluated(condition: RowCondition, problem: str) -> Finding:
    return CONDITION_NOT_EVALUATED.found(
        "It is unknown whether the rows satisfy {subject}, {expression!r}: {problem}."
        if condition.expression
        else "It is unknown whether the rows satisfy {subject}: {problem}.",
        column=condition.column,
        subject=condition.holder,
        expression=condition.expression[:_MOST_TEXT],
        problem=Prose(problem),
    )
