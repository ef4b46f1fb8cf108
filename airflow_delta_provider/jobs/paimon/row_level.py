"""The level of rows: whether ids and sequence numbers in the data files of a table are right, and stay."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from airflow_delta_provider.domain.paimon.changed_rows import ChangedRows, Comparison, Occurrence
from airflow_delta_provider.domain.paimon.format_error import PaimonFormatError
from airflow_delta_provider.domain.paimon.layout import DataLayout
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.provenance import provenance
from airflow_delta_provider.domain.paimon.row_rules import Fault, Outcome, found_elsewhere, judge, keeps_identities
from airflow_delta_provider.domain.paimon.table_history import (
    TableHistory,
    Vector,
    apply,
    carries_ids,
    vector_key,
    vectors_of,
)
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules import paimon_rows as rules
from airflow_delta_provider.jobs.delta_session import DeltaSession
from airflow_delta_provider.jobs.engine_errors import understand
from airflow_delta_provider.jobs.paimon.compared_rows import ComparedRows
from airflow_delta_provider.jobs.paimon.file_survey import FileSurvey, survey
from airflow_delta_provider.jobs.paimon.live_row_ids import LiveRowIds
from airflow_delta_provider.jobs.paimon.row_frame import RowFrame, UserColumn, comparable_columns, files_of
from airflow_delta_provider.jobs.paimon.table_files import TableFiles
from airflow_delta_provider.jobs.progress import Progress, silent

#: The lowest and the highest row id that a data file holds, by the file's name.
Ranges = Mapping[str, tuple[int, int]]


@dataclass(frozen=True)
class RowOptions:
    """What is asked for.

    :param keys: columns that tell rows apart, by their names in the newest schema
    :param reassigned: severity of row ids that Paimon itself gave anew
    :param ranges: what an earlier check found; of files that are not among them, the footers tell
    """

    keys: Sequence[str] = ()
    reassigned: Severity = Severity.WARNING
    ranges: Ranges = field(default_factory=dict)


@dataclass
class RowResult:
    """What the level of rows came to.

    :param ranges: between which ids those are that live files hold, where that is known
    :param keeping: snapshots whose commits are proven to have given new ids to new rows only
    """

    findings: list[Finding] = field(default_factory=list)
    evidence: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    keeping: set[int] = field(default_factory=set)


class RowLevel:
    """Judges the rows of one table.

    :param name: of the table, for people
    :param location: as a URI
    """

    def __init__(
        self,
        session: DeltaSession,
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
        self._data = TableFiles(session.storage, location, DataLayout.of(history.schema))
        self._evolution = history.schema.table_options().data_evolution
        self._result = RowResult()
        self._broken: set[FileKey] = set()
        self._live = {file.key: file for file in history.latest.files}
        self._vectors = vectors_of(history.latest.index_files)

    def judge(self) -> RowResult:
        """Read what has to be read, and return what is wrong.

        :raises PaimonFormatError: if an option of the newest schema has a value that it cannot have
        """
        history = self._history
        comparisons = list(ChangedRows(history, self._deleted).comparisons())
        touched = [one.file for comparison in comparisons for one in comparison.occurrences]
        added = [file for step in history.steps for file in step.added if file.key in self._live]
        looked_at = [file for file in ([] if history.proven else self._live.values()) if file.holds_rows]
        self._progress(f"{self._name}: reading the footers of data files")
        surveyed = survey([*looked_at, *added, *touched], self._data, lambda file: file.key in self._live)
        self._broken |= surveyed.broken
        self._result.findings += [self._traced(finding, [file]) for file, finding in surveyed.findings]
        readable = [
            comparison
            for comparison in comparisons
            if not any(one.file.key in self._broken for one in comparison.occurrences)
        ]
        self._result.evidence |= {
            "rows": sum(file.row_count for file in self._live.values() if file.holds_rows and not self._evolution),
            "footers_read": len(surveyed.ids),
            "commits_compared": sum(comparison.before is not None for comparison in readable),
        }
        told = self._compare(readable, surveyed)
        self._prove(surveyed, added, told)
        return self._result

    def _compare(self, comparisons: Sequence[Comparison], surveyed: FileSurvey) -> set[int]:
        """Compare the rows of commits, and return the snapshots of which repeated ids were told."""
        columns, others = comparable_columns(self._history.schemas)
        if others:
            self._result.evidence["columns_not_compared"] = others
        keys = list(self._keys(columns))
        if not comparisons:
            return set()
        self._progress(f"{self._name}: comparing the rows that {len(comparisons)} commits moved")
        frame = RowFrame(self._session, self._data, self._history.schemas, evolution=self._evolution)
        try:
            occurrences = [one for comparison in comparisons for one in comparison.occurrences]
            rows, names = frame.rows(occurrences, columns), [file.name for file in files_of(occurrences)]
            outcomes = ComparedRows(self._session, rows, names, comparisons, columns, keys).outcomes()
            told: list[Finding] = []
            for comparison in comparisons:
                if outcome := outcomes.get(comparison.number):
                    if keeps_identities(comparison, outcome):
                        self._result.keeping.add(comparison.snapshot.id)
                    told += self._judged(comparison, outcome, frame, surveyed)
        except (PySparkException, Py4JError) as error:
            self._cannot_read("Rows that commits moved", error)
            return set()
        self._result.findings += told
        return {finding.version for finding in told if finding.code == rules.REPEATED_ID.code and finding.version}

    def _judged(
        self, comparison: Comparison, outcome: Outcome, frame: RowFrame, surveyed: FileSurvey
    ) -> Iterator[Finding]:
        for finding in judge(comparison, outcome, self._options.reassigned):
            if finding.code == rules.INVENTED_ID.code:
                ids = [row.id for row in outcome.faults[Fault.INVENTED].first if row.id is not None]
                if names := self._others_with(ids, comparison, frame, surveyed):
                    yield found_elsewhere(finding, names)
                    continue
            yield finding

    def _others_with(self, ids: Sequence[int], comparison: Comparison, frame: RowFrame, surveyed: FileSurvey) -> str:
        """Return the files that a commit left alone of which a live row has one of ``ids``."""
        live = {file.key: file for file in self._history.start.files}
        for step in self._history.steps[: comparison.number]:
            apply(live, step)
        vectors = vectors_of(self._history.steps[comparison.number - 1].index_files)
        own = {one.file.key for one in comparison.occurrences if one.after}
        near = [
            Occurrence(file, 0, True, self._deleted(file, vectors.get(vector_key(file))))
            for file in live.values()
            if file.holds_rows and file.key not in own and self._may_have(file, ids, surveyed)
        ]
        near = [one for one in near if one.file.key not in self._broken]
        if not near:
            return ""
        with self._session.reading_files():
            wanted = f"id IN ({', '.join(map(str, ids))})"
            found = frame.rows(near, ()).where(wanted).select("file").distinct().collect()
        files = files_of(near)
        return ", ".join(sorted(files[row["file"]].name for row in found))

    def _may_have(self, file: DataFile, ids: Sequence[int], surveyed: FileSurvey) -> bool:
        low, high = self._range(file, surveyed) or (0, -1)
        return any(low <= row_id <= high for row_id in ids)

    def _prove(self, surveyed: FileSurvey, added: Collection[DataFile], told: Collection[int]) -> None:
        """Prove that live rows have ids of their own; of a proven start, what meets nothing new is left alone."""
        live = [file for file in self._live.values() if file.holds_rows and file.key not in self._broken]
        chosen = {file.key for file in live if carries_ids(file) or not self._plain(file, surveyed)}
        if self._history.proven:
            chosen &= self._meeting(live, added, surveyed)
        self._result.ranges |= {
            file.name: found
            for file in live
            if carries_ids(file) and (found := self._known_range(file, surveyed)) is not None
        }
        ids = LiveRowIds(
            self._session, self._data, live, surveyed, lambda file: self._deleted(file, self._vector_of(file))
        )
        self._result.evidence["files_with_ids_read"] = len(chosen)
        if chosen:
            self._progress(f"{self._name}: reading the row ids in {len(chosen)} files")
        try:
            for repeated in ids.repeated(chosen):
                finding = self._traced(repeated.finding, repeated.files)
                if finding.version not in told:
                    self._result.findings.append(finding)
        except (PySparkException, Py4JError) as error:
            self._cannot_read("The row ids in data files", error)

    def _plain(self, file: DataFile, surveyed: FileSurvey) -> bool:
        ids = surveyed.ids.get(file.key)
        return ids is None or ids.all_fresh

    def _meeting(self, live: Sequence[DataFile], added: Collection[DataFile], surveyed: FileSurvey) -> set[FileKey]:
        """Return the files that are new, and those that carry ids near theirs; of these the footers are read, too."""
        new = {file.key for file in added}
        before = vectors_of(self._history.start.index_files)
        new |= {file.key for file in live if before.get(vector_key(file)) != self._vector_of(file)}
        unknown = [
            file
            for file in live
            if carries_ids(file) and file.key not in surveyed.ids and (file.key in new or not self._kept(file))
        ]
        self._extend(surveyed, unknown)
        ranges = [found for file in live if file.key in new and (found := self._range(file, surveyed))]
        near = [
            file
            for file in live
            if file.key not in new
            and carries_ids(file)
            and (found := self._range(file, surveyed))
            and any(low <= found[1] and found[0] <= high for low, high in ranges)
        ]
        self._extend(surveyed, [file for file in near if file.key not in surveyed.ids])
        self._result.evidence["unchanged_files_read"] = len(near)
        return new | {file.key for file in near}

    def _extend(self, surveyed: FileSurvey, files: Sequence[DataFile]) -> None:
        more = survey(files, self._data, lambda file: file.key in self._live)
        surveyed.ids |= more.ids
        surveyed.files |= more.files
        self._broken |= more.broken
        self._result.findings += [self._traced(finding, [file]) for file, finding in more.findings]

    def _kept(self, file: DataFile) -> tuple[int, int] | None:
        return self._options.ranges.get(file.name)

    def _range(self, file: DataFile, surveyed: FileSurvey) -> tuple[int, int] | None:
        """Return between which ids those of a file are; without anything known of a file that carries them, all."""
        if not file.row_count:
            return None
        if not carries_ids(file) and self._plain(file, surveyed):
            first = file.first_row_id
            return None if first is None else (first, first + file.row_count - 1)
        return self._known_range(file, surveyed) or (-(1 << 63), (1 << 63) - 1)

    def _known_range(self, file: DataFile, surveyed: FileSurvey) -> tuple[int, int] | None:
        ids = surveyed.ids.get(file.key)
        if ids is None:
            return self._kept(file)
        if ids.minimum is None or ids.maximum is None or not ids.all_materialized:
            return None
        return ids.minimum, ids.maximum

    def _keys(self, columns: Sequence[UserColumn]) -> Iterator[UserColumn]:
        by_name = {column.name: column for column in columns}
        unknown = [name for name in self._options.keys if name not in by_name]
        if unknown:
            self._result.findings.append(
                rules.KEYS_NOT_USABLE.finding(
                    f"There is no column {', '.join(unknown)} that can be compared; there are: {', '.join(by_name)}. "
                    "Keys were not compared. Name other columns in key_columns.",
                    version=self._history.latest.snapshot.id,
                )
            )
            return
        yield from (by_name[name] for name in self._options.keys)

    def _deleted(self, file: DataFile, vector: Vector | None) -> int:
        """Return the deleted rows of a file; where they cannot be told, none, and its rows are not read."""
        try:
            return self._data.deleted_by(file, vector)
        except (FileNotFoundError, PaimonFormatError) as error:
            if file.key not in self._broken:
                self._broken.add(file.key)
                why = "there is no such file" if isinstance(error, FileNotFoundError) else str(error)
                name = vector.file.name if vector else file.name
                finding = rules.UNREADABLE.finding(
                    f"Which rows of {file.name} are deleted cannot be told: {name} cannot be read: {why}. "
                    f"{rules.UNREADABLE.remedy}",
                    path=file.name,
                )
                self._result.findings.append(self._since_vector(finding, vector))
            return 0

    def _since_vector(self, finding: Finding, vector: Vector | None) -> Finding:
        """Return a finding with the first commit that had the index file of a deletion vector."""
        if vector and vector.file not in self._history.start.index_files:
            for step in self._history.steps:
                if vector.file in step.index_files:
                    return replace(finding, **provenance(step.snapshot))
        return self._traced(finding, [])

    def _vector_of(self, file: DataFile) -> Vector | None:
        return self._vectors.get(vector_key(file))

    def _traced(self, finding: Finding, files: Sequence[DataFile]) -> Finding:
        """Return a finding with the commit that added the last of ``files``."""
        added = [snapshot for file in files if (snapshot := self._history.added_by.get(file.key))]
        if added:
            return replace(finding, **provenance(max(added, key=lambda snapshot: snapshot.id)))
        return replace(finding, version=self._history.start.snapshot.id, at_or_before=True)

    def _cannot_read(self, what: str, error: Exception) -> None:
        message = understand(error).message
        self._result.findings.append(
            rules.UNREAD.finding(
                f"{what} could not be read: {message}. {rules.UNREAD.remedy}", version=self._history.latest.snapshot.id
            )
        )
