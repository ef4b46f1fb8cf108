"""The level of rows: checks that ids and sequence numbers in a table's data files are correct and stable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.paimon.changed_rows import ChangedRows, Comparison, Occurrence
from airflow_delta_provider.domain.paimon.layout import DataLayout
from airflow_delta_provider.domain.paimon.live_files import Lifetimes
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.row_rules import (
    Outcome,
    RowFault,
    findings_of,
    found_elsewhere,
    keeps_identities,
    row_findings,
)
from airflow_delta_provider.domain.paimon.table_history import TableHistory, apply, vector_key, vectors_of
from airflow_delta_provider.domain.paimon.violations import listed, provenance
from airflow_delta_provider.domain.report.report import Finding, TableReport
from airflow_delta_provider.domain.request.check_options import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.jobs.paimon.table import RowOptions, RowResult, TableFiles
from airflow_delta_provider.jobs.process import Progress, silent
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.spark.paimon.catalog import PaimonCatalogCheck
from airflow_delta_provider.jobs.spark.paimon.compared_rows import ComparedRows, DeletedRows
from airflow_delta_provider.jobs.spark.paimon.live_ids import LiveProof, RepeatedId
from airflow_delta_provider.jobs.spark.paimon.rows import RowFrame, UserColumn, comparable_columns, files_of, survey
from airflow_delta_provider.jobs.spark.table_session import NotInCatalogError, SparkTableSession

#: Rules about the rows themselves. A violation ends when its rows are removed.
_ABOUT_ROWS = frozenset(
    rule.code
    for rule in (
        rules.NO_ID,
        rules.REPEATED_ID,
        rules.OUT_OF_RANGE,
        rules.SEQUENCE_WENT_BACK,
        rules.SILENT_CHANGE,
        rules.OTHER_SEQUENCE,
        rules.INVENTED_ID,
    )
)
#: Rules for files whose rows were not read.
_UNREAD = frozenset((rules.UNREADABLE.code, rules.UNREAD.code, rules.NOT_AS_RECORDED.code))


@dataclass(frozen=True)
class _CommitFinding:
    """A finding about the rows of a commit.

    :param ids: ids of the first of these rows
    :param count: number of rows that it counts
    """

    finding: Finding
    comparison: Comparison
    ids: frozenset[int] = frozenset()
    count: int = 0


class RowLevel:
    """Checks the rows of one table.

    :param name: name of the table, for messages
    :param location: location of the table, as a URI
    """

    def __init__(
        self,
        session: SparkTableSession,
        name: str,
        location: str,
        history: TableHistory,
        options: RowOptions,
        progress: Progress = silent,
    ) -> None:
        self._session = session
        self._name = name
        self._history = history
        self._options = options
        self._progress = progress
        self._data = TableFiles(session.files_of(location), location, DataLayout.of(history.schema))
        self._evolution = history.schema.table_options().data_evolution
        self._result = RowResult()
        self._deleted = DeletedRows(self._data, history)
        self._lifetimes = Lifetimes(history)
        self._live = {file.key: file for file in history.latest.files}

    def check(self) -> RowResult:
        """Read the required rows, and return the findings.

        :raises PaimonFormatError: if an option of the newest schema has an invalid value
        """
        history = self._history
        comparisons = list(ChangedRows(history, self._deleted).comparisons())
        touched = [one.file for comparison in comparisons for one in comparison.occurrences]
        added = [file for step in history.steps for file in step.added if file.key in self._live and file.holds_rows]
        looked_at = [file for file in ([] if history.proven else self._live.values()) if file.holds_rows]
        self._progress(f"{self._name}: reading the footers of data files")
        surveyed = survey([*looked_at, *added, *touched], self._data, lambda file: file.key in self._live)
        if surveyed.vanished:
            self._options.on_vanished()
        proof = LiveProof(
            self._session, self._data, history, self._deleted, surveyed, self._options.ranges, self._options.limits
        )
        broken = surveyed.broken | self._deleted.broken
        readable = [one for one in comparisons if not any(found.file.key in broken for found in one.occurrences)]
        self._result.evidence |= {
            "rows": sum(file.row_count for file in self._live.values() if file.holds_rows and not self._evolution),
            "footers_read": len(surveyed.ids),
            "commits_compared": sum(comparison.before is not None for comparison in readable),
        }
        by_commit = self._compare(readable, proof)
        unique = self._prove(proof, added, by_commit)
        self._result.findings += findings_of([*surveyed.faults, *self._deleted.faults], self._lifetimes)
        self._result.findings += self._not_compared([one for one in comparisons if one not in readable])
        self._result.findings += [self._healed(one, unique) for one in by_commit]
        self._result.evidence |= proof.evidence
        self._result.ranges = proof.ranges()
        return self._result

    def _compare(self, comparisons: Sequence[Comparison], proof: LiveProof) -> list[_CommitFinding]:
        """Compare the rows of commits, and return the findings about them."""
        columns, others = comparable_columns(self._history.schemas)
        if others:
            self._result.evidence["columns_not_compared"] = others
        keys = list(self._keys(columns))
        if not comparisons:
            return []
        self._progress(f"{self._name}: comparing the rows that {len(comparisons)} commits moved")
        frame = RowFrame(self._session, self._data, self._history.schemas, evolution=self._evolution)
        by_commit: list[_CommitFinding] = []
        try:
            occurrences = [one for comparison in comparisons for one in comparison.occurrences]
            rows, names = frame.rows(occurrences, columns), [file.name for file in files_of(occurrences)]
            outcomes = ComparedRows(self._session, rows, names, comparisons, columns, keys).outcomes()
            for comparison in comparisons:
                if outcome := outcomes.get(comparison.number):
                    if keeps_identities(comparison, outcome):
                        self._result.keeping.add(comparison.snapshot.id)
                    by_commit += self._findings(comparison, outcome, frame, proof)
        except (PySparkException, Py4JError) as error:
            self._cannot_read("Rows that commits moved", error)
        return by_commit

    def _findings(
        self, comparison: Comparison, outcome: Outcome, frame: RowFrame, proof: LiveProof
    ) -> Iterator[_CommitFinding]:
        repeated = [
            outcome.faults[fault] for fault in (RowFault.REPEATED, RowFault.INVENTED) if fault in outcome.faults
        ]
        ids = frozenset(row.id for rows in repeated for row in rows.first if row.id is not None)
        count = sum(rows.count for rows in repeated)
        for finding in row_findings(comparison, outcome, self._options.reassigned):
            rows = outcome.faults.get(RowFault.INVENTED) if finding.code == rules.INVENTED_ID.code else None
            if rows is not None:
                invented = [row.id for row in rows.first if row.id is not None]
                if names := self._others_with(invented, comparison, frame, proof):
                    finding = found_elsewhere(finding, names)
            yield _CommitFinding(finding, comparison, ids, count)

    def _others_with(self, ids: Sequence[int], comparison: Comparison, frame: RowFrame, proof: LiveProof) -> str:
        """Return the files that the commit did not touch that contain a live row with one of ``ids``."""
        live = {file.key: file for file in self._history.start.files}
        for step in self._history.steps[: comparison.number]:
            apply(live, step)
        vectors = vectors_of(self._history.steps[comparison.number - 1].index_files)
        own = {one.file.key for one in comparison.occurrences if one.after}
        near = [
            Occurrence(file, 0, True, self._deleted(file, vectors.get(vector_key(file))))
            for file in live.values()
            if file.holds_rows and file.key not in own and _may_have(proof.range_of(file), ids)
        ]
        broken = proof.surveyed.broken | self._deleted.broken
        near = [one for one in near if one.file.key not in broken]
        if not near:
            return ""
        with self._session.reading_files():
            wanted = f"id IN ({', '.join(map(str, ids))})"
            found = frame.rows(near, ()).where(wanted).select("file").distinct().collect()
        files = files_of(near)
        return ", ".join(sorted(files[row["file"]].name for row in found))

    def _prove(self, proof: LiveProof, added: Sequence[DataFile], by_commit: Sequence[_CommitFinding]) -> bool:
        """Prove that live rows have unique ids; return True if they have."""
        unique = True
        try:
            for repeated in proof.repeated(added, lambda text: self._progress(f"{self._name}: {text}")):
                unique = False
                finding = self._traced(repeated)
                if not any(_is_same(one, finding, repeated) for one in by_commit):
                    self._result.findings.append(finding)
        except (PySparkException, Py4JError) as error:
            self._cannot_read("The row ids in data files", error)
            return False
        return unique and proof.complete()

    def _healed(self, earlier: _CommitFinding, unique: bool) -> Finding:
        """Return a finding about rows, with the snapshot that fixed it.

        It is fixed once no file can contain any of its rows. If live row ids are proven to be unique, the last commit
        that removed rows fixed it at the latest.
        """
        finding, comparison = earlier.finding, earlier.comparison
        if finding.code not in _ABOUT_ROWS:
            return finding
        brought = [one.file for one in comparison.occurrences if one.after]
        fixed_by = self._lifetimes.rows_removed_since(brought, comparison.snapshot)
        if fixed_by is None and unique and finding.code == rules.REPEATED_ID.code:
            fixed_by = self._lifetimes.last_deletion(comparison.snapshot)
            evidence = f"{finding.evidence} It was fixed by snapshot {fixed_by} at the latest."
            finding = rules.REPEATED_ID.worded(replace(finding, evidence=evidence))
        return replace(finding, healed_version=fixed_by)

    def _not_compared(self, comparisons: Sequence[Comparison]) -> Iterator[Finding]:
        """Yield a finding about commits that were not compared, unless another open finding explains it."""
        if not comparisons or any(finding.is_open and finding.code in _UNREAD for finding in self._result.findings):
            return
        yield rules.UNREAD.found(
            "The rows that the commits of snapshots {snapshots} moved were not compared with those before: files that "
            "the table no longer has cannot be read.",
            effect="The changes of these commits are not part of the proof.",
            remedy="",
            version=comparisons[0].snapshot.id,
            snapshots=listed(str(comparison.snapshot.id) for comparison in comparisons),
        )

    def _keys(self, columns: Sequence[UserColumn]) -> Iterator[UserColumn]:
        by_name = {column.name: column for column in columns}
        unknown = [name for name in self._options.keys if name not in by_name]
        if unknown:
            self._result.findings.append(
                rules.KEYS_NOT_USABLE.found(
                    "There is no column {missing} that can be compared; there are: {there}. Keys were not compared.",
                    version=self._history.latest.snapshot.id,
                    missing=unknown,
                    there=list(by_name),
                )
            )
            return
        yield from (by_name[name] for name in self._options.keys)

    def _traced(self, repeated: RepeatedId) -> Finding:
        """Return a finding with the commit that brought the last of its rows, which caused the collision of ids."""
        if brought := self._lifetimes.brought_by(repeated.files):
            return replace(repeated.finding, **provenance(brought))
        return replace(repeated.finding, version=self._history.start.snapshot.id, at_or_before=True)

    def _cannot_read(self, what: str, error: Exception) -> None:
        self._result.findings.append(
            rules.UNREAD.found(
                "{what} could not be read: {error}.",
                version=self._history.latest.snapshot.id,
                what=what,
                error=Prose(understand(error).message.rstrip(".")),
            )
        )


def _may_have(found: tuple[int, int] | None, ids: Sequence[int]) -> bool:
    return found is not None and any(found[0] <= row_id <= found[1] for row_id in ids)


def _is_same(earlier: _CommitFinding, finding: Finding, repeated: RepeatedId) -> bool:
    """Return True if a commit's finding already covers a finding about live rows."""
    if earlier.finding.code != rules.REPEATED_ID.code:
        return False
    taken_along = not earlier.ids.isdisjoint(repeated.ids) and repeated.count <= earlier.count
    return earlier.finding.version == finding.version or taken_along


class SparkRowProofs:
    """Reads rows with Spark; see :class:`~airflow_delta_provider.jobs.paimon.table.RowProofs`."""

    def __init__(self, session: SparkTableSession) -> None:
        self._session = session

    def check_rows(
        self, name: str, location: str, history: TableHistory, options: RowOptions, progress: Progress
    ) -> RowResult:
        return RowLevel(self._session, name, location, history, options, progress).check()

    def check_by_catalog(
        self, name: TableName, options: PaimonCheckRowTrackingOptions, progress: Progress
    ) -> TableReport:
        self._check_reach(name)
        return PaimonCatalogCheck(self._session, name, options, progress).run()

    def _check_reach(self, name: TableName) -> None:
        """Check the location of a table, if the catalog shows it."""
        session = self._session
        if session.reach.is_bounded:
            try:
                location = session.catalogs.entry(name).location
            except (NotInCatalogError, PySparkException, Py4JError):  # the check reports this error
                return
            if location:
                session.check_reach(name, session.storage.qualify(location))
