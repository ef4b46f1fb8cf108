"""Check of a table's history, commit by commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from airflow_delta_provider.domain.checks import paimon_metadata as rules
from airflow_delta_provider.domain.paimon.change_rules import (
    NewIds,
    check_change,
    check_files,
    check_have_ids,
    is_branch_merge,
)
from airflow_delta_provider.domain.paimon.changed_rows import (
    BranchFiles,
    DeletedRows,
    check_new_ids,
    check_rewritten,
    vectors_needed,
)
from airflow_delta_provider.domain.paimon.layout import snapshot_id_of, snapshot_path
from airflow_delta_provider.domain.paimon.live_files import Change, History, LiveFiles
from airflow_delta_provider.domain.paimon.manifest import DataFile, FileKey
from airflow_delta_provider.domain.paimon.manifest_checks import (
    ListedManifests,
    RecordCounts,
    Similarity,
    ValueBounds,
    compared_rows,
)
from airflow_delta_provider.domain.paimon.row_groups import check_lost_columns, check_row_groups, is_of_new_rows
from airflow_delta_provider.domain.paimon.schema import TableSchema
from airflow_delta_provider.domain.paimon.snapshot import KNOWN_VERSIONS, Commit, Damage, DamageKind, Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import (
    Schemas,
    check_schemas,
    has_data_evolution,
    is_tracked,
    manifest_format,
    may_renumber,
    missing_snapshots,
)
from airflow_delta_provider.domain.paimon.table_history import IdRanges
from airflow_delta_provider.domain.paimon.violations import OpenViolation, OpenViolations, Violation, listed
from airflow_delta_provider.domain.report.report import Finding

_NOT_CHECKED = "This snapshot and those after it are not checked."
#: Rules about metadata that was not read, by the reason.
_RULES = {
    DamageKind.UNREADABLE: rules.UNREADABLE_METADATA,
    DamageKind.CONTRADICTING: rules.CONTRADICTING_MANIFESTS,
    DamageKind.TOO_LARGE: rules.METADATA_NOT_READ,
    DamageKind.OUTSIDE: rules.NOT_READ,
}


class HistoryCheck:
    """Checks the commits of a table, in order.

    :param schemas: all schemas of the table
    :param since: snapshot of the first commit, which is assumed to be correct; None to check all
    :param fail_on_reassigned: True if reassigned row ids are an error
    """

    def __init__(
        self,
        schemas: Schemas,
        *,
        since: int | None = None,
        fail_on_reassigned: bool = False,
        branch_files: BranchFiles = dict,
    ) -> None:
        self._schemas = schemas
        self._since = since
        self._fail_on_reassigned = fail_on_reassigned
        self._branch_files = branch_files
        self._live = LiveFiles()
        self._ranges = IdRanges()
        self._violations = OpenViolations()
        self._lists = ListedManifests(self._violations)
        self._counts = RecordCounts(self._violations)
        self._beginning: dict[FileKey, DataFile] = {}
        self._changes: list[Change] = []
        self._removed_keys: set[FileKey] = set()
        self._file_schemas: dict[int, Snapshot] = {}
        self._damaged: dict[str, OpenViolation] = {}
        self._broken_snapshots: list[Damage] = []
        self._complete = True
        self._unknown: Finding | None = None
        self._new: NewIds | None = None
        self._highest_of_branches = 0

    @property
    def ended(self) -> bool:
        """Return True if the following commits cannot be checked, because one has an unknown version."""
        return self._unknown is not None

    @property
    def live(self) -> LiveFiles:
        """The live files of the newest commit."""
        return self._live

    @property
    def snapshots(self) -> tuple[Snapshot, ...]:
        """The snapshots that were checked, in order."""
        return tuple(change.snapshot for change in self._changes)

    def add_damage(self, damage: Damage) -> None:
        """Add a snapshot that cannot be read."""
        self._broken_snapshots.append(damage)

    def apply_commit(self, commit: Commit) -> tuple[Snapshot, ...]:
        """Check a commit. Return the snapshots whose deletion vectors must be read to finish the check."""
        snapshot = commit.snapshot
        if snapshot.version not in KNOWN_VERSIONS:
            self._unknown = rules.UNKNOWN_VERSION.found(
                "Snapshot {version} has the format version {format}; known ones are up to {known}.",
                effect=_NOT_CHECKED,
                version=snapshot.id,
                format=snapshot.version,
                known=KNOWN_VERSIONS[-1],
            )
            return ()
        other_format = manifest_format(self._schemas.get(snapshot.schema_id))
        if other_format and any(damage.kind is DamageKind.UNREADABLE for damage in commit.damages):
            self._unknown = rules.UNKNOWN_VERSION.found(
                "Manifests of snapshot {version} are {format}, by manifest.format; only Avro is known.",
                effect=_NOT_CHECKED,
                version=snapshot.id,
                format=other_format,
            )
            return ()
        was_complete = self._live.complete
        change = self._live.apply(commit)
        first = not self._changes
        if not first:
            self._check_gap(self._changes[-1].snapshot, snapshot)
        self._changes.append(change)
        self._complete &= change.complete and not change.rewritten and (first or change.previous is not None)
        if first:
            self._beginning = dict(self._live.files)
        for file in (*(self._beginning.values() if first else ()), *change.added):
            self._file_schemas.setdefault(file.schema_id, snapshot)
        self._take_damages(commit)
        self._lists.apply_commit(commit)
        self._violations.follow(change)
        again = change.previous is None or bool(change.rewritten) or not was_complete
        self._follow_ranges(change, again)
        if snapshot.id == self._since:
            self._counts.start_from(snapshot, self._live)
            return ()
        wanted = self._check(change, first)
        if not change.renumbered:
            self._removed_keys |= {file.key for file in change.deleted}
        return wanted

    def add_deleted_rows(self, deleted: DeletedRows, bounds: Callable[[], Mapping[str, ValueBounds]]) -> None:
        """Finish the check of the newest commit with the deletion vectors that :meth:`apply_commit` requested.

        :param bounds: function that returns the statistics of files in the commit, by their names
        """

        def compare(before: Sequence[DataFile], after: Sequence[DataFile]) -> Similarity:
            return compared_rows(before, after, bounds(), self._schemas)

        if self._new is not None:
            self._add_all(check_rewritten(self._changes[-1], self._new, deleted, compare, self._live_names))

    def _live_names(self) -> set[str]:
        return {file.name for file in self._live.files.values()}

    def add_index_damages(self, damages: Mapping[str, Damage]) -> None:
        """Add the damages of index manifests, by their names."""
        opened: dict[str, OpenViolation] = {}
        for change in self._changes:
            snapshot = change.snapshot
            for other in [name for name in opened if name != snapshot.index_manifest]:
                opened.pop(other).heal(snapshot)
            name = snapshot.index_manifest
            if name is not None and name in damages and name not in opened:
                violation = Violation(
                    _RULES.get(damages[name].kind, rules.UNREADABLE_METADATA).found(
                        "The index manifest {path} {damage}. So it is unknown which rows are deleted.",
                        path=damages[name].path,
                        damage=damages[name].text,
                    )
                )
                opened[name] = self._violations.add(violation, snapshot)

    def findings(self) -> list[Finding]:
        """Return all findings."""
        snapshots = [change.snapshot for change in self._changes if change.snapshot.id != self._since]
        broken = [
            rules.UNREADABLE_METADATA.found(
                "{path} {damage}.", path=damage.path, damage=damage.text, version=snapshot_id_of(damage.path)
            )
            for damage in self._broken_snapshots
        ]
        ended = [self._unknown] if self._unknown else []
        has_ids = any(change.snapshot.next_row_id for change in self._changes)
        return [
            *check_schemas(self._schemas, snapshots, self._file_schemas, has_ids=has_ids),
            *broken,
            *self._violations.findings(),
            *ended,
        ]

    def history(self) -> History | None:
        """Return the checked snapshots; None if there are none."""
        if not self._changes:
            return None
        schemas = {key: schema for key, schema in self._schemas.items() if isinstance(schema, TableSchema)}
        complete = self._complete and not self.ended and not self._broken_snapshots
        return History(self._beginning, tuple(self._changes), self._live.files, schemas, complete)

    def _check(self, change: Change, first: bool) -> tuple[Snapshot, ...]:
        snapshot = change.snapshot
        schema = self._schemas.get(snapshot.schema_id)
        if change.complete:
            self._counts.check(snapshot, self._live, **({"at_or_before": True} if first and snapshot.id > 1 else {}))
        self._new = None
        if not is_tracked(schema):
            return ()
        before = self._schemas.get(change.previous.schema_id) if change.previous else None
        evolution = has_data_evolution(schema)
        new = self._new = NewIds.of(
            change,
            tracked_before=is_tracked(before),
            data_evolution=evolution,
            restored=self._restored(change),
            may_renumber=may_renumber(self._schemas.values(), change.snapshot),
        )
        if is_branch_merge(change, new):
            self._highest_of_branches = max(self._highest_of_branches, *(file.max_sequence for file in change.added))
        highest = max(snapshot.id, self._highest_of_branches)
        self._add_all(check_change(change, new, highest))
        self._add_all(check_new_ids(change, new, self._branch_files))
        seed = first and snapshot.id > 1
        added = {file.key for file in change.added}
        if seed:
            for violation in check_files((f for f in self._live.files.values() if f.key not in added), snapshot):
                self._violations.add(violation, snapshot, at_or_before=True)
        elif isinstance(before, TableSchema) and not is_tracked(before):
            for violation in check_have_ids(f for f in self._live.files.values() if f.key not in added):
                self._violations.add(violation, snapshot)
        if evolution:
            self._check_groups(change, new, seed)
        self._check_overlaps(self._live.files.values() if seed else change.added, snapshot, evolution, seed)
        return vectors_needed(change, new)

    def _check_groups(self, change: Change, new: NewIds, seed: bool) -> None:
        live = self._live.files
        if seed:
            for violation in check_row_groups(live.values(), live.values()):
                self._violations.add(violation, change.snapshot, at_or_before=True)
        elif change.complete and not is_of_new_rows(change, new, live):
            touched = (*change.added, *change.deleted)
            groups = list(check_row_groups(touched, live.values(), new, self._schemas))
            lost = check_lost_columns(change, new, live.values(), self._schemas)
            self._add_all([*groups, *(one for one in lost if not groups or one.finding.code != rules.ROW_GROUP.code)])

    def _add_all(self, violations: Iterable[Violation]) -> None:
        for violation in violations:
            finding = violation.finding
            if self._fail_on_reassigned and (severity := rules.severity_of_reassigned(finding)):
                violation = replace(violation, finding=replace(finding, severity=severity))
            self._violations.add(violation, self._changes[-1].snapshot)

    def _restored(self, change: Change) -> frozenset[FileKey]:
        """Return the files of a commit that the table had before, or may have had before its history begins."""
        earliest = self._changes[0].snapshot.id
        return frozenset(
            file.key for file in change.added if file.key in self._removed_keys or file.max_sequence < earliest != 1
        )

    def _check_gap(self, before: Snapshot, snapshot: Snapshot) -> None:
        skipped = range(before.id + 1, snapshot.id)
        broken = {damage.path for damage in self._broken_snapshots}
        missing = [snapshot_id for snapshot_id in skipped if snapshot_path(snapshot_id) not in broken]
        if missing:
            self._violations.add(Violation(missing_snapshots(before, snapshot, missing)), snapshot, version=missing[0])

    def _take_damages(self, commit: Commit) -> None:
        names = {file.name for file in (*(commit.base or ()), *(commit.delta or ()))}
        names |= {commit.snapshot.base.name, commit.snapshot.delta.name}
        for name in [name for name in self._damaged if name not in names]:
            self._damaged.pop(name).heal(commit.snapshot)
        for damage in commit.damages:
            rule = _RULES.get(damage.kind, rules.RECORDED_SIZES)
            violation = Violation(rule.found("{path} {damage}.", path=damage.path, damage=damage.text))
            self._damaged[damage.path.rsplit("/", 1)[-1]] = self._violations.add(violation, commit.snapshot)

    def _follow_ranges(self, change: Change, again: bool) -> None:
        if again:
            self._ranges.replace(self._live.files.values())
            return
        for file in change.deleted:
            self._ranges.remove(file)
        for file in change.added:
            self._ranges.add(file)

    def _check_overlaps(self, files: Iterable[DataFile], snapshot: Snapshot, evolution: bool, seed: bool) -> None:
        pairs = dict(self._overlaps(files, evolution))
        if pairs:
            texts = (
                f"{one.name} and {other.name} from {max(_first(one), _first(other))}" for one, other in pairs.values()
            )
            finding = rules.OVERLAPPING_ROW_IDS.found(
                "Live files have the same row ids: {files}.",
                path=next(iter(pairs.values()))[0].name if len(pairs) == 1 else None,
                files=listed(texts),
            )
            violation = Violation(finding, tuple(pairs), inherited=True)
            self._violations.add(violation, snapshot, **({"at_or_before": True} if seed else {}))

    def _overlaps(
        self, files: Iterable[DataFile], evolution: bool
    ) -> Iterator[tuple[frozenset[FileKey], tuple[DataFile, DataFile]]]:
        for file in files:
            for other in self._ranges.clashes(file, equal_allowed=evolution):
                yield frozenset((file.key, other.key)), (file, other)


def _first(file: DataFile) -> int:
    return file.first_row_id or 0
