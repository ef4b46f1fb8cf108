"""Files that a commit adds and removes, compared with the live files: AC03, AC09, AC14, AC15, AC22, AC23 and AC27."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.checks.actions import ADD_AND_REMOVE, FAMILY, RECONCILIATION, UPDATE
from airflow_delta_provider.domain.checks.check import on_commit, on_tracked, on_transition
from airflow_delta_provider.domain.checks.rule import Details, Healing, Need, RepairMethod, Restore, Scope
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.log import APPEND_ONLY, CHANGE_DATA_FEED
from airflow_delta_provider.domain.delta.live_file import LiveFile, RemovedFile, count_live_rows
from airflow_delta_provider.domain.delta.log_files import hidden_folder
from airflow_delta_provider.domain.delta.table_properties import APPEND_ONLY as APPEND_ONLY_PROPERTY
from airflow_delta_provider.domain.delta.table_properties import ENABLE_CHANGE_DATA_FEED
from airflow_delta_provider.domain.delta.table_state import Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

_pair = FAMILY.of(Scope.PAIR, ADD_AND_REMOVE, needs=(Need.FILES,))
#: Fields of checks that compare the files of a commit with the live ones.
_OF_FILES = ("add.path", "add.deletionVector", "remove.path", "remove.deletionVector", "files")


def _adds(later: Transition, finding: Finding) -> bool:
    return any(file.path == finding.path for file in later.commit.adds)


def _is_missing_and_append_only(later: Transition, finding: Finding, _: Details) -> bool:
    return not _adds(later, finding) and later.after.metadata.properties.append_only


REMOVED_FROM_APPEND_ONLY = _pair.error(
    3,
    "data removed from an append-only table",
    name="append-only-table-loses-data",
    effect="Readers that follow appends to the table do not notice the removal.",
    remedy=Restore(instead="set delta.appendOnly to false if that was intended"),
    source="PROTOCOL.md, Append-only Tables",
    healing=Healing(_is_missing_and_append_only, by_files=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    shows="remove",
    repairs=(RepairMethod.UNSET_PROPERTY,),
)


@on_transition(REMOVED_FROM_APPEND_ONLY, reads=("remove.path", "remove.dataChange", "files", "metaData", "protocol"))
def _removed_from_append_only(transition: Transition) -> Iterator[Finding]:
    before = transition.before
    if not before.metadata.properties.append_only:
        return
    if not before.protocol.supports(APPEND_ONLY) or transition.restores:
        return
    removed = [file for file in transition.commit.removes if file.data_change]
    if removed and transition.removed_files:
        yield REMOVED_FROM_APPEND_ONLY.found(
            "{property} is true, but the commit removes {files:data file}, for example {path}.",
            path=removed[0].path,
            property=APPEND_ONLY_PROPERTY,
            files=len(removed),
        )


def _rows_are_elsewhere(later: Transition, finding: Finding, _: Details) -> bool:
    return not ((later.replaces_all and later.commit.removes) or _adds(later, finding))


ROWS_NOT_KEPT = _pair.error(
    9,
    "rows lost or added by a commit that changes no data",
    name="row-count-changed-without-data-change",
    effect="Rows disappeared or appeared although nobody deleted or inserted them, and readers that follow the table "
    "do not notice it.",
    remedy=Restore(", and update the engine that wrote the commit"),
    healing=Healing(_rows_are_elsewhere, by_files=True),
    shows="remove",
)


@on_transition(ROWS_NOT_KEPT, reads=(*_OF_FILES, "add.stats", "add.dataChange", "remove.dataChange"))
def _rows_not_kept(transition: Transition) -> Iterator[Finding]:
    commit = transition.commit
    if any(file.data_change for file in commit.removes) or any(file.data_change for file in commit.adds):
        return
    if not (commit.removes or commit.adds):
        return
    removed = transition.before_files.values()
    if not {file.key for file in commit.removes} <= {file.key for file in removed}:
        return  # the log does not record the number of rows of a file that was not live
    before, after = count_live_rows(removed), count_live_rows({file.key: file for file in commit.adds}.values())
    if before is not None and after is not None and before != after:
        yield ROWS_NOT_KEPT.found(
            "The commit marks all its files as changing no data (dataChange is false), but the removed files had "
            "{before:row} and the added files have {after:row}, unless numRecords of a file is wrong.",
            path=(commit.removes or commit.adds)[0].path,
            before=before,
            after=after,
        )


def _is_not_replaced(later: Transition, _: Finding, __: Details) -> bool:
    return not (later.restores or (later.replaces_all and later.commit.removes))


REMOVED_NOT_LIVE = _pair.error(
    14,
    "removed file not in the table",
    name="removed-file-not-in-table",
    effect="Readers may still see data that was to be removed: rows twice, or rows that were deleted.",
    remedy="Compare the table with its previous version; if it has rows twice, or deleted ones again, RESTORE that "
    "version and write the change again.",
    source=RECONCILIATION,
    healing=Healing(_is_not_replaced, by_restore=True),
    needs=(Need.FILES, Need.VERSIONS),
    shows="remove",
)


@on_transition(REMOVED_NOT_LIVE, reads=(*_OF_FILES, "remove.dataChange"))
def _removed_not_live(transition: Transition) -> Iterator[Finding]:
    """Yield findings about removed files that were not live.

    If the commit changes no data, only replaced files are checked; otherwise it may remove files that are not data
    files.
    """
    commit = transition.commit
    if not commit.removes:
        return
    live = {file.key for file in transition.before_files.values()}
    times = Counter(file.path for file in commit.removes)
    for file in commit.removes:
        if file.key in live or times[file.path] > 1 or _is_absolute(file.path):
            continue
        if not (file.data_change or commit.adds):
            continue
        other = file.path in transition.otherwise_live
        yield REMOVED_NOT_LIVE.found(
            "The commit removes {path}, which is "
            + ("live with another deletion vector." if other else "not in the table."),
            path=file.path,
            other_vector=other,
            severity=None if other or not file.data_change else Severity.WARNING,
        )
        return


def _until_as_before(name: str, number_of: Callable[[LiveFile], int | None]) -> Healing:
    """Return the healing of a violation that is open until the file is added with its earlier number again.

    :param name: name of that number in the details
    :param number_of: returns the number from an ``add`` action
    """

    def before(finding: Finding, transition: Transition) -> Details:
        return {name: number_of(transition.before_files[finding.path or ""])}

    def is_another(later: Transition, finding: Finding, details: Details) -> bool:
        return not any(file.path == finding.path and number_of(file) == details[name] for file in later.commit.adds)

    return Healing(is_another, before, needs_details=True, by_files=True)


FILE_OVERWRITTEN = _pair.error(
    15,
    "live file added again with another size",
    name="live-file-changes-size",
    effect="The file was overwritten, which data files never may be, or one of the sizes is wrong: readers fail, or "
    "read other rows.",
    remedy="Bring the first content of the file back from a backup, or DELETE its rows and write them again; RESTORE "
    "leaves alone a file that is live in both versions.",
    source="PROTOCOL.md, Delta Data Files",
    healing=_until_as_before("size", lambda file: file.size),
    about_live_files=True,
    repairs=(RepairMethod.FILE_FIELDS,),
)


@on_transition(FILE_OVERWRITTEN, reads=("add.path", "add.size", "files"))
def _overwritten(transition: Transition) -> Iterator[Finding]:
    if not transition.before_files:
        return
    for file in transition.commit.adds:
        live = transition.before_files.get(file.path)
        if live is not None and live.size != file.size and live.size >= 0:  # AC16 reports a negative size
            yield FILE_OVERWRITTEN.found(
                "{path} is live with {before:byte}, and the commit adds it again with {size:byte}.",
                path=file.path,
                before=live.size,
                size=file.size,
            )


ROWS_CHANGED = _pair.error(
    22,
    "live file added again with another number of rows",
    name="live-file-changes-row-count",
    effect="The number of all rows of a file, deleted or not, never changes: engines that count by statistics "
    "answer wrongly, and row ids overlap.",
    remedy=Restore(", and update the engine that wrote the commit"),
    source="PROTOCOL.md, Per-file Statistics",
    healing=_until_as_before("rows", lambda file: file.num_records),
    about_live_files=True,
    repairs=(RepairMethod.STATISTICS,),
)


@on_transition(ROWS_CHANGED, reads=("add.path", "add.stats", "add.deletionVector", "files"))
def _rows_changed(transition: Transition) -> Iterator[Finding]:
    if not transition.before_files:
        return
    for file in transition.commit.adds:
        live = transition.before_files.get(file.path)
        if live is None or None in (live.num_records, file.num_records) or live.num_records == file.num_records:
            continue
        if file.deletion_vector is None or file.deletion_vector.cardinality <= (file.num_records or 0):
            yield ROWS_CHANGED.found(
                "{path} is live with {before:row}, and the commit adds it again with {rows:row}.",
                path=file.path,
                before=live.num_records,
                rows=file.num_records,
            )


HIDDEN_FILE = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Data Files").warning(
    27,
    "data file in a hidden folder",
    name="data-file-in-hidden-folder",
    effect="VACUUM never deletes the file once it is removed, and tools that copy tables may leave it out.",
    remedy=UPDATE,
    about_live_files=True,
    repairs=(RepairMethod.COPY,),
)


@on_commit(HIDDEN_FILE, reads=("add.path", "cdc"))
def _hidden(commit: Commit) -> Iterator[Finding]:
    for file in commit.adds:
        if "_" in file.path and (folder := hidden_folder(file.path)) is not None and not _is_change_data(file, commit):
            yield HIDDEN_FILE.found("The commit adds {path}, in the folder {folder}.", path=file.path, folder=folder)


def _is_change_data(file: LiveFile, commit: Commit) -> bool:
    return any(isinstance(body, Mapping) and body.get("path") == file.path for body in commit.change_data)


def _other_path(finding: Finding, _: Transition) -> Details:
    return {"other": (finding.facts or {}).get("other")}


def _other_is_live(later: Transition, _: Finding, details: Details) -> bool:
    removed_paths = {file.path for file in later.commit.removes} - {file.path for file in later.commit.adds}
    return details["other"] not in removed_paths


LIVE_UNDER_TWO_PATHS = _pair.error(
    23,
    "file live under two paths",
    name="file-live-under-two-paths",
    effect="Its rows are read twice, and a commit that removes one of the paths leaves them in the table.",
    remedy=Restore(", write the change again, and update the engine that wrote the commit"),
    healing=Healing(_other_is_live, _other_path, needs_details=True, by_files=True),
    about_live_files=True,
    repairs=(RepairMethod.ONE_PATH,),
)


@on_tracked(LIVE_UNDER_TWO_PATHS, reads=("add.path", "files"))
def check_paths(twice: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Yield a finding if a commit makes a file live under two paths.

    :param twice: paths that it adds, each with another path of the same file that is live after it
    """
    for path, other in twice:
        yield LIVE_UNDER_TWO_PATHS.found(
            "The commit adds {path}. It is the same file as {other}, which is also live.", path=path, other=other
        )


def _is_absolute(path: str) -> bool:
    """Return True if a path can be spelled in several ways that some engines treat as the same."""
    return path.startswith("/") or ":" in path


#: Operations that update rows, or delete some rows of a file, when they write files.
_CHANGE_ROWS = frozenset({"UPDATE", "MERGE", "DELETE"})
#: Fields of checks of commits that rewrite files.
_OF_REWRITES = (
    *("add.path", "add.dataChange", "remove.path", "remove.dataChange", "cdc", "commitInfo.operation"),
    *("files", "metaData", "protocol"),
)

CHANGE_DATA_AS_DATA = FAMILY.of(Scope.COMMIT, "PROTOCOL.md, Add CDC File").warning(
    25,
    "change data file marked as changing data",
    name="change-file-marked-as-data-change",
    effect="Readers that do not know change data may mistake it for rows of the table.",
    remedy=UPDATE,
    shows="cdc",
)
NO_CHANGE_DATA = FAMILY.of(Scope.PAIR, "PROTOCOL.md, Writer Requirements for AddCDCFile").error(
    26,
    "rows changed without change data",
    name="change-data-not-written",
    effect="Readers of the change data feed see every row of the rewritten files deleted and inserted again.",
    remedy="Update the engine that wrote the commit; consumers of the feed have to read the table again.",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    shows="remove",
)


@on_commit(CHANGE_DATA_AS_DATA, reads=("cdc",))
def _as_data(commit: Commit) -> Iterator[Finding]:
    for body in commit.change_data:
        path = body.get("path") if isinstance(body, Mapping) else None
        if not isinstance(path, str):
            continue  # AC16 reports it
        if body.get("dataChange") is True:
            yield CHANGE_DATA_AS_DATA.found("The change data file {path} has dataChange true.", path=path)
            return


@on_transition(NO_CHANGE_DATA, reads=_OF_REWRITES)
def _no_change_data(transition: Transition) -> Iterator[Finding]:
    if _rewrites_rows(transition) and (_says_so(transition.commit) or not may_replace_partitions(transition)):
        yield _without_change_data(transition)


@on_tracked(NO_CHANGE_DATA, reads=_OF_REWRITES)
def check_partial_rewrite(transition: Transition) -> Finding:
    """Return the finding about a commit that may replace partitions but keeps some of their files."""
    return _without_change_data(transition)


def may_replace_partitions(transition: Transition) -> bool:
    """Return True if a commit without change data rewrites rows, unless it removes all files of some partitions."""
    return (
        bool(transition.before.metadata.partition_columns)
        and not _says_so(transition.commit)
        and _rewrites_rows(transition)
    )


def _rewrites_rows(transition: Transition) -> bool:
    """Return True if a commit removes files and adds others without change data, and does not replace the table."""
    commit, before = transition.commit, transition.before
    if commit.change_data or not commit.removes or not before.metadata.properties.change_data_feed:
        return False
    if not before.protocol.supports(CHANGE_DATA_FEED):
        return False
    if not _says_so(commit) and (transition.restores or transition.keeps_no_file):
        return False
    return bool(_removed(transition)) and any(file.data_change for file in transition.new_files)


def _says_so(commit: Commit) -> bool:
    return commit.operation in _CHANGE_ROWS


def _removed(transition: Transition) -> list[RemovedFile]:
    removes = transition.commit.removes
    return [file for file in removes if file.data_change and file.path in transition.removed_files]


def _without_change_data(transition: Transition) -> Finding:
    """Return the finding; undecided unless the operation changes rows: it may remove rows and insert others."""
    commit, removed = transition.commit, _removed(transition)
    known: dict[str, Any] = {"path": removed[0].path, "property": ENABLE_CHANGE_DATA_FEED, "files": len(removed)}
    if _says_so(commit):
        return NO_CHANGE_DATA.found(
            "{property} is true, and the commit rewrites {files:data file} for {changing}, for example {path}, but "
            "has no cdc action.",
            **known,
            changing=commit.operation,
        )
    return NO_CHANGE_DATA.found(
        "{property} is true, and the commit removes {files:data file}, for example {path}, and adds {added:other}, "
        "but has no cdc action. It is unknown whether it changes rows or replaces them.",
        severity=Severity.UNDECIDED,
        **known,
        added=sum(file.data_change for file in transition.new_files),
    )
