"""Planning a migration: the steps, in order, that bring a table to its declared state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta, timezone, tzinfo
from functools import partial
from typing import Any

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.drop_features import DropSurvey
from airflow_delta_provider.domain.changes.plan import Planned, check_not_tracked, check_table
from airflow_delta_provider.domain.changes.steps import Parts, RenameColumns, Step, each_step, earlier_path
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.migrations.planned import (
    PlannedMigration,
)
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.migrations.parts import (
    add_constraints,
    change_columns,
    check_engine_rules,
    cluster,
    drop_columns,
    drop_features,
    enable_features,
    forbid_nulls,
    rewrite,
    set_properties,
)
from airflow_delta_provider.domain.migrations.plan import MigrationDraft, MigrationPlan
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from airflow_delta_provider.domain.table_name import TableName


@dataclass(frozen=True)
class QuietWindow:
    """A daily time window.

    :param start: start, inclusive
    :param end: end, exclusive; on the next day if it is not after the start
    """

    start: time
    end: time

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise ValueError(f"The window begins and ends at {self.start:%H:%M}.")

    def opens(self, now: datetime, zone: tzinfo) -> datetime:
        """Return the time when the window is next open, in UTC: ``now`` if it is open.

        :param now: current time, with a time zone
        :param zone: time zone of the window's times
        """
        now = now.astimezone(timezone.utc)
        today = now.astimezone(zone).date()
        starts = []
        for day in (today + timedelta(days=offset) for offset in (-1, 0, 1, 2)):
            last = day + timedelta(days=self.end <= self.start)
            start = datetime.combine(day, self.start, zone).astimezone(timezone.utc)
            end = datetime.combine(last, self.end, zone).astimezone(timezone.utc)
            if start <= now < end:
                return now
            starts.append(start)
        return min(start for start in starts if start > now)


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
#: Stand-in if no engine is given: it has all features that engines have.
_ANY_ENGINE = Engine("4.2.0", "4.4.0", frozenset(name.casefold() for name in FEATURES if name != USAGE_TRACKING.name))


@dataclass(frozen=True)
class PlanningResult(Planned):
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
) -> PlanningResult:
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
        return PlanningResult(None, (other,))
    engine = engine or _ANY_ENGINE
    if blocked := (*check_table(table.text, state.protocol, engine), *check_not_tracked(table.text, state)):
        return PlanningResult(None, blocked)
    draft = MigrationDraft(table, spec, state, engine, survey or DropSurvey())
    for part in _PARTS:
        if not draft.refusals:  # after a refusal, the table is not in the state that the next part needs
            part(draft)
    if spec.only_additive:
        draft.refusals += _not_additive(draft.steps)
    if draft.refusals:
        return PlanningResult(None, tuple(draft.refusals), draft.wants_files)
    done, protocols = tuple(_in_one_commit(draft.steps)), (state.protocol, draft.state.protocol)
    plan = MigrationPlan(table, done, *protocols, tuple(draft.notes), spec=spec, before=state)
    return PlanningResult(plan, (), draft.wants_files)


def _in_one_commit(planned: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps, with consecutive metadata changes combined into one commit."""
    together: list[Step] = []
    for step in planned:
        if together and (not step.joins_others or _is_default_of_new_column(step, together)):
            yield steps.InOneCommit(tuple(together))
            together = []
        if step.joins_others:
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
        if not step.is_additive:
            yield requests.NOT_ADDITIVE.found("The plan would {what}.", what=Prose(step.action))


#: Fields that the last step decides. All other changes add up.
_LAST_DECIDES = ("partition_by", "cluster_by", "rewrites_all")


def migration_to_lint(
    steps: Iterable[Step],
    before: TableState,
    *,
    features_added: Collection[str] | None = None,
    most_rewritten: int | None = None,
) -> PlannedMigration:
    """Return the combined changes of steps on a table, as rules about plans check them.

    :param before: state of the table; with its files, rules know whether it has rows
    :param features_added: features added to its protocol; None for the features that the steps name
    :param most_rewritten: maximum number of bytes that policy lets a migration rewrite; None for no limit
    """
    found: dict[str, Any] = {}
    for step, origin in _with_origins(steps):
        for name, value in step.planned(origin).items():
            found[name] = _joined(found[name], value) if name in found and name not in _LAST_DECIDES else value
    added = found.pop("features_added", ()) if features_added is None else features_added
    found["features_added"] = tuple(sorted(set(added) - before.protocol.features))
    return PlannedMigration(before=before, most_rewritten=most_rewritten, **found)


def _joined(before: Any, more: Any) -> Any:
    return {**before, **more} if isinstance(more, Mapping) else before + more


def _with_origins(steps: Iterable[Step]) -> Iterator[tuple[Step, Callable[[Parts], Parts]]]:
    """Yield each step with a function from a column's path to its path before all renames."""
    renames: list[RenameColumns] = []
    for step in each_step(steps):
        yield step, partial(_origin, tuple(reversed(renames)))
        if isinstance(step, RenameColumns):
            renames.append(step)


def _origin(renames: Iterable[RenameColumns], path: Parts) -> Parts:
    for step in renames:
        path = step.path_before(path)
    return path
