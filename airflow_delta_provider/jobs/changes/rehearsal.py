"""Rehearsal of a plan: before the table is changed, the engine carries out the steps on an empty copy."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

from pyspark.errors import AnalysisException

from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.preflight import (
    empty_copy,
    insert_one_row,
    steps_to_rehearse,
    stores_expressions,
)
from airflow_delta_provider.domain.changes.provider_commit import lines_of
from airflow_delta_provider.domain.changes.steps import (
    ForbidNulls,
    InOneCommit,
    RewriteTable,
    Step,
)
from airflow_delta_provider.domain.checks import faults, requests
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.engine.secret_settings import masked_text
from airflow_delta_provider.domain.engine.spark_library import is_local
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.changes.commit import CommitRefusedError, LogStore
from airflow_delta_provider.jobs.changes.engine_transaction import EngineTransaction, commit_metadata, rewrite_table
from airflow_delta_provider.jobs.delta.session import OpenTable
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import EngineError

#: Folder within the folder of a table. Readers, VACUUM and searches for tables skip folders with this prefix.
FOLDER = "_delta_provider_rehearsals"
#: Age in seconds after which folders of killed processes are removed.
_LEFT_FOR_SECONDS = 24 * 60 * 60


@contextmanager
def scratch_table(session: SparkDeltaSession, location: str, domains: Mapping[str, str]) -> Iterator[OpenTable]:
    """Create an empty table with the protocol and metadata of another one; remove it afterwards.

    If Spark runs only on this machine, it lies in a local temporary folder. Otherwise it lies within the table's
    folder, because the machines of a cluster can read and write there, and this job may do so.

    :param location: the other table's location
    :param domains: configuration of its domains, by name
    """
    if _runs_here(session):
        folder = tempfile.mkdtemp(prefix="delta-provider-rehearsal-")
        try:
            with _table_at(session, location, domains, session.storage.qualify(f"file:{folder}/t")) as table:
                yield table
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    parent = f"{location.rstrip('/')}/{FOLDER}"
    scratch = f"{parent}/{int(time.time())}-{uuid.uuid4().hex}"
    try:
        with _table_at(session, location, domains, scratch) as table:
            yield table
    finally:
        with suppress(Exception):
            _remove(session, parent, scratch)


def _runs_here(session: SparkDeltaSession) -> bool:
    """Return True if tasks run in the process of the driver, on its files."""
    return is_local(session.spark.sparkContext.master)


@contextmanager
def _table_at(
    session: SparkDeltaSession, original: str, domains: Mapping[str, str], location: str
) -> Iterator[OpenTable]:
    transaction = EngineTransaction(session, original)
    actions = empty_copy(transaction.protocol, transaction.metadata, domains)
    LogStore(session, location).put(0, lines_of(actions))
    try:
        yield OpenTable(TableName(location, location=location), location, session.open_log(location))
    finally:
        with suppress(Exception):
            _forget(session, location)


def _forget(session: SparkDeltaSession, location: str) -> None:
    """Let Delta drop its cached state of a table."""
    jvm: Any = session.spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(location)
    jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(session.spark._jsparkSession, path)


def _remove(session: SparkDeltaSession, parent: str, scratch: str) -> None:
    """Remove a scratch table and leftovers of killed processes, and the folder if it is empty then."""
    jvm: Any = session.spark._jvm
    path = jvm.org.apache.hadoop.fs.Path
    files = path(parent).getFileSystem(session.spark._jsparkSession.sessionState().newHadoopConf())
    files.delete(path(scratch), True)
    old = time.time() - _LEFT_FOR_SECONDS
    left = [status.getPath() for status in files.listStatus(path(parent))]
    for each in left:
        began = each.getName().partition("-")[0]
        if began.isdigit() and int(began) < old:
            files.delete(each, True)
    if not files.listStatus(path(parent)):
        files.delete(path(parent), False)


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
                what=Prose(step.action),
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
    elif statement := step.sql(scratch.name):
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
