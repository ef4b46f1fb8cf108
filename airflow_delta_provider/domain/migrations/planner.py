"""Planning a migration: the steps, in order, that bring a table to its declared state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.drop_features.plan import DropSurvey
from airflow_delta_provider.domain.changes.explain import action_of
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.preconditions import check_not_tracked, check_table
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.engine import Engine
from airflow_delta_provider.domain.migrations.draft import MigrationDraft
from airflow_delta_provider.domain.migrations.earlier_path import earlier_path
from airflow_delta_provider.domain.migrations.parts.engine_rules import check_engine_rules
from airflow_delta_provider.domain.migrations.parts.features import drop_features, enable_features
from airflow_delta_provider.domain.migrations.parts.metadata import (
    change_columns,
    cluster,
    drop_columns,
    set_properties,
)
from airflow_delta_provider.domain.migrations.parts.rows import add_constraints, forbid_nulls, rewrite
from airflow_delta_provider.domain.migrations.plan import MigrationPlan
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.table_name import TableName
from airflow_delta_provider.domain.spec.table_spec import TableSpec

#: The parts of a plan, in this order.
_PARTS: Sequence[Callable[[MigrationDraft], None]] = (
    enable_features,
    change_columns,
    rewrite,
    forbid_nulls,
    add_constraints,
    set_properties,
    cluster,
    drop_columns,
    drop_features,
    check_engine_rules,
)
#: Metadata changes that are made together, in one commit.
_TOGETHER = (
    steps.AddColumns,
    steps.RenameColumns,
    steps.WidenColumns,
    steps.OrderFields,
    steps.AllowNulls,
    steps.CommentColumns,
    steps.SetDefaults,
    steps.CommentTable,
    steps.DropConstraint,
    steps.DropColumns,
)
#: Changes that break no reader or writer.
_ADDITIVE = (
    steps.AddColumns,
    steps.AllowNulls,
    steps.CommentColumns,
    steps.CommentTable,
    steps.OrderFields,
    steps.SetDefaults,
)
#: Stand-in if no engine is given: it has all features that engines have.
_ANY_ENGINE = Engine("4.2.0", "4.4.0", frozenset(name.casefold() for name in FEATURES if name != USAGE_TRACKING.name))


@dataclass(frozen=True)
class MigrationPlanned(Planned):
    """A plan and the reasons against it.

    :param wants_files: True if the live files must be read to plan in full
    """

    plan: MigrationPlan | None
    wants_files: bool = False


def plan_migration(
    table: TableName,
    spec: TableSpec,
    state: TableState,
    engine: Engine | None = None,
    survey: DropSurvey | None = None,
) -> MigrationPlanned:
    """Plan the changes that bring a table to its declared state; a second run plans nothing.

    :param state: state of the table; with its files, once ``wants_files`` was answered
    :param engine: engine that will execute the plan; None to assume the newest release
    :param survey: costs of dropping features
    """
    if spec.table_id is not None and spec.table_id != state.metadata.id:
        other = requests.ANOTHER_TABLE.found(
            "{table} has the id {id}, and the spec is for a table with the id {wanted}.",
            table=table.text,
            id=state.metadata.id,
            wanted=spec.table_id,
        )
        return MigrationPlanned(None, (other,))
    engine = engine or _ANY_ENGINE
    if blocked := (*check_table(table.text, state.protocol, engine), *check_not_tracked(table.text, state)):
        return MigrationPlanned(None, blocked)
    draft = MigrationDraft(table, spec, state, engine, survey or DropSurvey())
    for part in _PARTS:
        if not draft.refusals:  # after a refusal, the table is not in the state that the next part needs
            part(draft)
    if spec.only_additive:
        draft.refusals += _not_additive(draft.steps)
    if draft.refusals:
        return MigrationPlanned(None, tuple(draft.refusals), draft.wants_files)
    done, protocols = tuple(_in_one_commit(draft.steps)), (state.protocol, draft.state.protocol)
    plan = MigrationPlan(table, done, *protocols, tuple(draft.notes), spec=spec, before=state)
    return MigrationPlanned(plan, (), draft.wants_files)


def _in_one_commit(planned: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps, with consecutive metadata changes combined into one commit."""
    together: list[Step] = []
    for step in planned:
        if together and (not isinstance(step, _TOGETHER) or _is_default_of_new_column(step, together)):
            yield steps.InOneCommit(tuple(together))
            together = []
        if isinstance(step, _TOGETHER):
            together.append(step)
        else:
            yield step
    if together:
        yield steps.InOneCommit(tuple(together))


def _is_default_of_new_column(step: Step, before: Sequence[Step]) -> bool:
    """Return True if a commit would add a column together with its default.

    PROTOCOL.md, Default Columns, does not allow that.
    """
    return isinstance(step, steps.SetDefaults) and any(earlier_path(c.parts, before) is None for c in step.columns)


def _not_additive(planned: Iterable[Step]) -> Iterator[Finding]:
    for step in planned:
        harmless = isinstance(step, steps.SetProperties) and not step.enables
        if not (harmless or isinstance(step, _ADDITIVE)):
            yield requests.NOT_ADDITIVE.found("The plan would {what}.", what=Prose(action_of(step)))
