"""Rehearsal of a plan: before the table is changed, the engine carries out the steps on an empty copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from pyspark.errors import AnalysisException

from airflow_delta_provider.domain.changes.explain import action_of
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.rehearsal import insert_one_row, steps_to_rehearse, stores_expressions
from airflow_delta_provider.domain.changes.sql import render_sql
from airflow_delta_provider.domain.changes.step import ForbidNulls, InOneCommit, RewriteTable, Step
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.jobs.changes.commit.direct_commit import CommitRefusedError
from airflow_delta_provider.jobs.changes.migration.metadata_commit import commit_metadata
from airflow_delta_provider.jobs.changes.migration.rewrite import rewrite_table
from airflow_delta_provider.jobs.changes.scratch_table import scratch_table
from airflow_delta_provider.jobs.delta.delta_session import OpenTable
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.engine_errors import understand
from airflow_delta_provider.jobs.storage.engine_error import EngineError

P = TypeVar("P", bound=Plan)

#: Conditions that Spark reports if an expression passed its analysis and cannot be evaluated.
_NOT_EVALUABLE = frozenset({"INTERNAL_ERROR"})


class RehearsalFailedError(Exception):
    """The rehearsal itself failed, which says nothing about the plan."""

    def __init__(self, meaning: EngineError) -> None:
        super().__init__(meaning.message)
        self.meaning = meaning

    def finding(self, table: str) -> Finding:
        """Return the fault of the storage or the engine; it is never a refusal."""
        rule = self.meaning.rule if self.meaning.rule in (faults.STORAGE, faults.UNEXPECTED) else faults.ENGINE
        return rule.found(
            "The rehearsal of the plan for {table} failed, so the table was not changed: {why}",
            remedy=self.meaning.remedy,
            table=table,
            why=Prose(masked_text(_reason(self.meaning))),
            condition=self.meaning.condition,
        )


def not_rehearsed(plan: P, failure: RehearsalFailedError) -> P:
    """Return a plan with a note that explains why it was not rehearsed."""
    why = masked_text(_reason(failure.meaning))
    return replace(plan, notes=(*plan.notes, f"Not rehearsed, since the rehearsal itself failed: {why}"))


def rehearse(
    session: SparkDeltaSession, table: OpenTable, domains: Mapping[str, str], planned: Sequence[Step]
) -> tuple[Finding, ...]:
    """Return a refusal if the engine rejects a step, or a row inserted after the steps; otherwise nothing.

    There is no rehearsal if a refusal by the engine would leave nothing behind.

    :param domains: configuration of the table's domains, by name
    :raises RehearsalFailedError: if the scratch table cannot be created or used
    """
    steps = steps_to_rehearse(planned)
    if not steps:
        return ()
    try:
        with scratch_table(session, table.location, domains) as scratch:
            if refused := _refused_step(session, scratch, steps):
                return (refused,)
            why = _refused_row(session, scratch) if stores_expressions(steps) else None
        if why is None or _refuses_rows_already(session, table, domains, why):
            return ()
    except Exception as error:
        raise RehearsalFailedError(understand(error)) from error
    return (_unwritable(table, why),)


def _refused_step(session: SparkDeltaSession, scratch: OpenTable, steps: Sequence[Step]) -> Finding | None:
    for step in steps:
        try:
            _do(session, scratch, step)
        except CommitRefusedError as error:
            return error.findings[0]
        except Exception as error:
            meaning = understand(error)
            # No error on an empty table that nobody else uses is temporary.
            if meaning.rule is not requests.ENGINE_REFUSED and not (
                meaning.rule is faults.ENGINE and meaning.retryable
            ):
                raise
            session.sql(f"DESCRIBE {scratch.name.sql}")  # raises if SQL does not reach the scratch table at all
            return requests.ENGINE_REFUSED.found(
                "The engine refused to {what}, in a rehearsal on an empty table with the same schema: {why}",
                what=Prose(action_of(step)),
                why=Prose(masked_text(_reason(meaning))),
                condition=meaning.condition,
            )
    return None


def _reason(meaning: EngineError) -> str:
    """Return the cause as a sentence."""
    text = meaning.evidence.removeprefix("The engine refused: ").removeprefix("The engine failed: ")
    text = text.split("\n== SQL")[0].rstrip()
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _do(session: SparkDeltaSession, scratch: OpenTable, step: Step) -> None:
    """Do a step in the way that the change does it later."""
    if isinstance(step, (InOneCommit, ForbidNulls)):
        commit_metadata(session, scratch, scratch.log.read_state(), step)
    elif isinstance(step, RewriteTable):
        rewrite_table(session, scratch, scratch.log.read_state(), step)
    elif statement := render_sql(step, scratch.name):
        session.sql(statement)


def _refused_row(session: SparkDeltaSession, scratch: OpenTable) -> EngineError | None:
    """Return the reason why no row can be written; None if a row can be written.

    A row that breaks a constraint proves that the constraint can be evaluated. So does a value that fails in it.
    """
    statement = insert_one_row(scratch.name, scratch.log.read_state().metadata)
    if statement is None:
        return None
    try:
        session.sql(statement)
    except Exception as error:
        meaning = understand(error)
        cannot = isinstance(error, AnalysisException) or meaning.condition in _NOT_EVALUABLE
        return replace(meaning, rule=requests.ENGINE_REFUSED) if cannot else None
    return None


def _refuses_rows_already(
    session: SparkDeltaSession, table: OpenTable, domains: Mapping[str, str], why: EngineError
) -> bool:
    """Return True if rows are refused for the same reason before the steps."""
    with scratch_table(session, table.location, domains) as scratch:
        before = _refused_row(session, scratch)
    return before is not None and before.condition == why.condition


def _unwritable(table: OpenTable, why: EngineError) -> Finding:
    return requests.UNUSABLE_EXPRESSION.found(
        "After the plan, no row could be written to {table}. The engine failed to insert one in a rehearsal on an "
        "empty table with the same schema: {why}",
        table=table.name.text,
        why=Prose(masked_text(_reason(why))),
        condition=why.condition,
    )
