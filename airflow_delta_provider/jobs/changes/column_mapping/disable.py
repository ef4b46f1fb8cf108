"""The kind ``disable-column-mapping``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.changes.commit.edit import Edit
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey, count_nulls
from airflow_delta_provider.domain.changes.disable_mapping.mapped_table import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.plan import check_disabling, plan_disabling
from airflow_delta_provider.domain.changes.disable_mapping.proof import disable_in_action, needs_footers
from airflow_delta_provider.domain.changes.disable_mapping.verify import (
    foreign_files,
    nulls_differ,
    rebased_over,
    rows_differ,
    unread_files,
    verify_disabled,
)
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.step import DisableMapping, Step
from airflow_delta_provider.domain.changes.usage_tracking.consistency import is_tracked
from airflow_delta_provider.domain.changes.usage_tracking.enable import edit_of
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.commit_base import CommitBase
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.request.disable_column_mapping import DisableColumnMappingOptions
from airflow_delta_provider.jobs.changes.column_mapping.column_reader import FooterReader, read_columns
from airflow_delta_provider.jobs.changes.column_mapping.row_sums import row_sums
from airflow_delta_provider.jobs.changes.commit.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.commit.hand_made_commit import HandMadeCommit
from airflow_delta_provider.jobs.changes.table_change import Change, TableMovedError, changing
from airflow_delta_provider.jobs.delta.delta_files import DeltaFiles
from airflow_delta_provider.jobs.delta.delta_session import DeltaSession, OpenTable


class DisableColumnMapping(Change):
    """Takes the column mapping of one table away and verifies that everything reads as before."""

    needs_files = True

    def __init__(self, options: DisableColumnMappingOptions, session: DeltaSession) -> None:
        self._options = options
        self._session = session
        self._engine = session.engine
        self._planned: tuple[TableState, Planned] | None = None
        self._footers: FooterReader | None = None

    def plan(self, table: OpenTable, state: TableState) -> Planned:
        """Plan on a state of the table, with the proof of that very version."""
        self._footers = FooterReader(DeltaFiles(self._session.storage, table.location))
        planned = plan_disabling(table.name, self._options, self._look(table, state), self._engine)
        self._planned = state, planned
        return planned

    def commit(self, table: OpenTable, step: Step, labels: Mapping[str, Any]) -> None:
        """Take the mapping out of the metadata, where the proof holds for the version that the commit follows.

        The transaction is started before anything is proven: metadata that were read earlier could undo what another
        writer changed in between, and the engine would not notice.
        """
        del labels  # the session writes them into every commit
        assert isinstance(step, DisableMapping)
        assert self._planned is not None
        if is_tracked(self._planned[0]):
            self._commit_by_hand(table, step, self._planned[0])
            return
        transaction = self._start(table)
        planned_on, _ = self._planned
        seen, logged = Metadata.from_json(transaction.metadata), table.log.read_state(version=transaction.version)
        if seen != logged.metadata or seen.id != planned_on.metadata.id:
            raise _moved(table, transaction.version, "It is another table than it was.")
        if (planned_on.version, planned_on.metadata) != (transaction.version, seen):
            step = self._plan_again(table, logged)
        if step.rests_on == "no files":
            transaction.bar_new_files()
        transaction.remove_column_mapping([{"metaData": disable_in_action(transaction.metadata)}])

    def verify(
        self, table: OpenTable, before: TableState, after: TableState, commits: Mapping[int, list[Action]]
    ) -> tuple[Finding, ...]:
        """Return what is not as it was, between the version that the commit follows and its own."""
        del before, after
        if not commits:
            return ()
        return tuple(self._verify(table, min(commits)))

    def _commit_by_hand(self, table: OpenTable, step: DisableMapping, planned_on: TableState) -> None:
        """Do the same to a table with usage tracking, of which no engine starts a transaction."""

        def make(base: CommitBase) -> Edit:
            assert self._planned is not None
            if self._planned[0].version != base.state.version:
                self._plan_again(table, base.state)
            return edit_of(step, base)

        self._hand_made(table, planned_on).write(make)

    def _hand_made(self, table: OpenTable, planned_on: TableState) -> HandMadeCommit:
        return HandMadeCommit.in_session(
            self._session, table, planned_on, allow_unsafe_log_store=self._options.allow_unsafe_log_store
        )

    def _start(self, table: OpenTable) -> EngineTransaction:
        return EngineTransaction(self._session, table.location)

    def _look(self, table: OpenTable, state: TableState) -> MappedTable:
        """Return what is known of a version of the table; footers where they decide."""
        found = read_columns(table.log, state.version)
        mapped = state.metadata.properties.is_mapped
        decided = self._options.strategy == "rewrite" or check_disabling(table.name.text, state, self._engine)
        if decided or not mapped or not needs_footers(state.metadata, found.known):
            return found
        return replace(found, footers=self._survey(found.state))

    def _plan_again(self, table: OpenTable, state: TableState) -> DisableMapping:
        """Make the proof on the version that the transaction sees, and return the step that it allows.

        :raises TableMovedError: if it does not hold there
        """
        planned = plan_disabling(table.name, self._options, self._look(table, state), self._engine)
        steps = planned.plan.steps if planned.plan is not None else ()
        if planned.refusals or len(steps) != 1 or not isinstance(steps[0], DisableMapping):
            raise _moved(table, state.version, " ".join(finding.message for finding in planned.refusals[:1]))
        self._planned = state, planned
        return steps[0]

    def _survey(self, state: TableState) -> FooterSurvey:
        assert self._footers is not None
        return self._footers.survey(state.metadata, (state.files or {}).values())

    def _verify(self, table: OpenTable, version: int) -> Iterator[Finding]:
        old = table.log.read_state(version=version - 1, with_files=True)
        new = table.log.read_state(version=version, with_files=True)
        rewritten = not self._took_metadata_only
        yield from verify_disabled(old, new, rewritten=rewritten)
        if not rewritten:
            yield from self._verify_rebase(table, version, old)
            survey = self._survey(old)
            footers = survey.footers.values()
            yield from nulls_differ(count_nulls(old.metadata, footers), count_nulls(new.metadata, footers), version)
            yield from unread_files(survey, version)
        if self._options.verify == "full":
            before, after = (row_sums(self._session, table.location, each) for each in (version - 1, version))
            yield from rows_differ(before, after, version)

    def _verify_rebase(self, table: OpenTable, version: int, old: TableState) -> Iterator[Finding]:
        """Look at the commits between the proof and the version that the commit follows."""
        assert self._planned is not None
        proven = self._planned[0].version
        if proven == version - 1:
            return
        between = [(later, actions) for later, actions in table.log.commits_after(proven) if later < version]
        yield from rebased_over(between, version)
        paths = {action["add"]["path"] for _, actions in between for action in actions if action.get("add")}
        added = {key: file for key, file in (old.files or {}).items() if file.path in paths}
        yield from foreign_files(self._survey(replace(old, files=added)), version)

    @property
    def _took_metadata_only(self) -> bool:
        planned = self._planned[1].plan if self._planned is not None else None
        return planned is not None and isinstance(planned.steps[0], DisableMapping)


def _moved(table: OpenTable, version: int, why: str) -> TableMovedError:
    return TableMovedError(
        f"Another writer changed {table.name.text} up to version {version}, so that its mapping cannot be taken away "
        f"as planned. {why} This step was not done; run the job again."
    )


run = changing(DisableColumnMapping)
