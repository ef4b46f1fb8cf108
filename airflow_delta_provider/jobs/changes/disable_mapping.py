"""The kind ``disable-column-mapping``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from airflow_delta_provider.domain.changes.disable_mapping.column_history import MappedTable
from airflow_delta_provider.domain.changes.disable_mapping.file_columns import FooterSurvey, count_nulls
from airflow_delta_provider.domain.changes.disable_mapping.plan import (
    check_disabling,
    disable_in_action,
    foreign_files,
    needs_footers,
    nulls_differ,
    plan_disabling,
    rebased_over,
    rows_differ,
    unread_files,
    verify_disabled,
)
from airflow_delta_provider.domain.changes.plan import Planned
from airflow_delta_provider.domain.changes.steps import DisableMapping, Step
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.formats.parquet.footer import Footer, FooterError
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.request.change_options import DisableColumnMappingOptions
from airflow_delta_provider.jobs.changes.commit import TableMovedError
from airflow_delta_provider.jobs.changes.engine_transaction import EngineTransaction
from airflow_delta_provider.jobs.changes.planned_change import PlannedChange
from airflow_delta_provider.jobs.changes.values import row_sums, rows_of
from airflow_delta_provider.jobs.column_mapping import read_columns, survey_footers

_Disabling = TypeVar("_Disabling", bound="DisablingMapping")


@dataclass(frozen=True)
class DisablingMapping(PlannedChange):
    """Disable column mapping; everything reads as before.

    :param read: footers of the table's files that were already read, by path
    """

    options: DisableColumnMappingOptions
    read: dict[str, Footer | FooterError] = field(default_factory=dict)

    @cached_property
    def planned(self) -> Planned:
        """The single step, with the proof for exactly this version."""
        found = read_columns(self.table.log, self.state.version)
        decided = self.options.strategy == "rewrite" or self.refusals() or not found.is_mapped
        if not decided and needs_footers(self.state.metadata, found.known):
            found = replace(found, footers=self.survey(found.state))
        return self.plan(found)

    @abstractmethod
    def refusals(self) -> tuple[Finding, ...]:
        """Return the reasons why the mapping cannot be disabled at all, regardless of the files."""

    @abstractmethod
    def plan(self, found: MappedTable) -> Planned:
        """Plan from the column data of one version of the table."""

    def proven_on(self: _Disabling, state: TableState) -> _Disabling:
        """Return the change as planned on a later state.

        :raises TableMovedError: if a change of metadata alone is not allowed there
        """
        again = replace(self, state=state)
        if again.planned.refusals or not isinstance(again.step, DisableMapping):
            raise self.moved(state.version, " ".join(finding.message for finding in again.planned.refusals[:1]))
        return again

    @property
    def step(self) -> Step | None:
        """The single step of the plan; None if there is nothing to do."""
        plan = self.planned.plan
        return plan.steps[0] if plan is not None and plan.steps else None

    def verify(self, after: TableState, commits: Mapping[int, list[Action]]) -> tuple[Finding, ...]:
        """Return the differences between the commit's version and the version before it."""
        del after
        return tuple(self._verify(min(commits))) if commits else ()

    def _verify(self, version: int) -> Iterator[Finding]:
        old = self.table.log.read_state(version=version - 1, with_files=True)
        new = self.table.log.read_state(version=version, with_files=True)
        rewritten = not isinstance(self.step, DisableMapping)
        yield from verify_disabled(old, new, rewritten=rewritten)
        if not rewritten:
            yield from self.verify_rebase(version, old)
            survey = self.survey(old)
            footers = survey.footers.values()
            yield from nulls_differ(count_nulls(old.metadata, footers), count_nulls(new.metadata, footers), version)
            yield from unread_files(survey, version)
        if self.options.verify == "full":
            before, after = (
                row_sums(rows_of(self.session, self.table.location, each)) for each in (version - 1, version)
            )
            yield from rows_differ(before, after, version)

    def verify_rebase(self, version: int, old: TableState) -> Iterator[Finding]:
        """Yield problems with commits between the proof and ``version``; by default there can be none."""
        del version, old
        return iter(())

    def survey(self, state: TableState) -> FooterSurvey:
        """Compare the columns of a version's files with the columns of the table."""
        return survey_footers(self.session.data_files(self.table.location), state, self.read)

    def moved(self, version: int, why: str) -> TableMovedError:
        """Return the error for a table that another writer changed."""
        return TableMovedError(
            f"Another writer changed {self.table.name.text} up to version {version}, so its mapping cannot be disabled "
            f"as planned. {why} This step was not done."
        )


@dataclass(frozen=True)
class DisableMappingByEngine(DisablingMapping):
    """Disable column mapping by a transaction of the engine, or by SQL, which rewrites the files."""

    def refusals(self) -> tuple[Finding, ...]:
        return check_disabling(self.table.name.text, self.state, self.session.engine)

    def plan(self, found: MappedTable) -> Planned:
        return plan_disabling(self.table.name, self.options, found, self.session.engine)

    def commit(self, step: Step, since: TableState) -> PlannedChange:
        """Disable the mapping in the metadata, if the proof holds for the version that the commit follows.

        The transaction starts before the proof. Metadata read earlier could undo another writer's change in between,
        and the engine would not notice.
        """
        del step, since
        transaction = self.start()
        seen = Metadata.from_json(transaction.metadata)
        logged = self.table.log.read_state(version=transaction.version)
        if seen != logged.metadata or seen.id != self.state.metadata.id:
            raise self.moved(transaction.version, "It is another table than it was.")
        unchanged = (self.state.version, self.state.metadata) == (transaction.version, seen)
        proven = self if unchanged else self.proven_on(logged)
        if proven.step == DisableMapping("no files"):
            transaction.bar_new_files()
        transaction.remove_column_mapping([{"metaData": disable_in_action(transaction.metadata)}])
        return proven

    def start(self) -> EngineTransaction:
        """Start the transaction that disables the mapping."""
        return EngineTransaction(self.session, self.table.location)

    def verify_rebase(self, version: int, old: TableState) -> Iterator[Finding]:
        """Check the commits between the proof and the version that the commit follows."""
        proven = self.state.version
        if proven == version - 1:
            return
        between = [(later, actions) for later, actions in self.table.log.commits_after(proven) if later < version]
        yield from rebased_over(between, version)
        paths = {action["add"]["path"] for _, actions in between for action in actions if action.get("add")}
        added = {key: file for key, file in (old.files or {}).items() if file.path in paths}
        yield from foreign_files(self.survey(replace(old, files=added)), version)
