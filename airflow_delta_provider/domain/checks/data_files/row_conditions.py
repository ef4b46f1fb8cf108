"""Conditions that the rows in data files must satisfy: DF06 to DF09."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.data_files.family import FAMILY
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.metadata.new_columns import REQUIRED_COLUMN_ADDED
from airflow_delta_provider.domain.checks.rule import Rule, Scope, causes
from airflow_delta_provider.domain.delta.row_condition import ConditionKind, RowCondition
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum number of characters shown of an expression.
_MOST_TEXT = 300
_data = FAMILY.of(Scope.DATA, remedy="Correct or delete the rows, and update the engine that wrote them.")


@dataclass(frozen=True)
class BrokenCondition:
    """A condition that rows of a file do not satisfy.

    :param path: path of the file, as in the log
    :param rows: number of rows that do not satisfy it
    :param certain: whether other engines get the same result; otherwise ``depends`` of the condition gives the cause
    """

    condition: RowCondition
    path: str
    rows: int
    certain: bool = True


CONSTRAINT_BROKEN = _data.error(
    6,
    "rows that break a constraint",
    effect="Queries that rely on the constraint return wrong results, and writers that rewrite the rows fail.",
    source="PROTOCOL.md, CHECK Constraints and Column Invariants",
)
NULL_NOT_ALLOWED = _data.error(
    7,
    "NULL in a column that cannot be null",
    effect="Readers fail on the rows or take the NULL for a value, and queries for NULL miss it.",
    source="PROTOCOL.md, Struct Field",
    follows_from=causes(REQUIRED_COLUMN_ADDED, later=True),
)
OTHER_THAN_GENERATED = _data.error(
    8,
    "value of a generated column differs from its expression",
    effect="Engines that derive filters from the expression skip the rows.",
    source="PROTOCOL.md, Generated Columns",
)
CONDITION_NOT_EVALUATED = _data.undecided(
    9,
    "condition on rows that could not be checked",
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
_SAID = {
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
        f"{_SAID[condition.kind]}{doubt}{older}.",
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
