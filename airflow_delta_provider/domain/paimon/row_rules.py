"""Rules about data files and their rows from one snapshot to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata
from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.rule import Prose, Rule
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.live_files import Lifetimes
from airflow_delta_provider.domain.paimon.manifest import DataFile
from airflow_delta_provider.domain.paimon.snapshot import Snapshot
from airflow_delta_provider.domain.paimon.snapshot_rules import BRANCH_EFFECT
from airflow_delta_provider.domain.paimon.violations import listed, provenance
from airflow_delta_provider.domain.report.report import Finding, Severity

#: Maximum number of rows that a finding names.
MOST_ROWS = 5


class RowFault(Enum):
    """Possible faults of a row id in one commit; the first one that applies counts."""

    NO_ID = "no_id"
    REPEATED = "repeated"
    IMPOSSIBLE_ID = "impossible_id"
    IMPOSSIBLE_SEQUENCE = "impossible_sequence"
    COMPACTED = "compacted"
    LOST = "lost"
    ADDED = "added"
    TAKEN = "taken"
    REUSED = "reused"
    INVENTED = "invented"
    WENT_BACK = "went_back"
    SILENT = "silent"
    OTHER_SEQUENCE = "other_sequence"
    NEW_WITH_OTHER_SEQUENCE = "new_with_other_sequence"
    TOUCHED = "touched"


@dataclass(frozen=True)
class ChangedRow:
    """A row id before and after a commit.

    :param before: its sequence number before; None if the commit removed no such row
    :param after: its sequence number after; None if the commit added no such row
    :param file: name of the data file that has it after the commit, or had it before
    :param position: physical position in that file, from 0; None if unknown
    """

    id: int | None
    before: int | None
    after: int | None
    file: str
    position: int | None


@dataclass(frozen=True)
class FaultyRows:
    """Rows with one fault.

    :param count: number of rows
    :param first: first of these rows, by id
    """

    count: int
    first: tuple[ChangedRow, ...] = ()


@dataclass(frozen=True)
class MoveCounts:
    """The numbers of rows that returned under their ids, that disappeared, and that have new ids.

    :param same_content: True if the disappeared and the new rows have the same values, as a whole
    :param before: number of rows that the commit removed
    :param after: number of rows that the commit added
    :param removed_ids: lowest and highest id that disappeared
    :param new_ids: lowest and highest new id
    """

    kept: int
    removed: int
    new: int
    same_content: bool
    before: int = 0
    after: int = 0
    removed_ids: tuple[int, int] | None = None
    new_ids: tuple[int, int] | None = None


@dataclass(frozen=True)
class MovedKeys:
    """The keys of rows that a commit removed and added again, each with one id before and one after.

    :param reassigned: number of keys whose id is new
    :param exchanged: number of keys whose id is another old one
    :param repeated: number of keys that several rows have
    :param first: first of the keys with another id: id before, id after
    """

    reassigned: int
    exchanged: int
    repeated: int
    first: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """The result of a comparison."""

    moved: MoveCounts
    faults: Mapping[RowFault, FaultyRows]
    keys: MovedKeys | None = None


#: Rules about rows, with the weaker rules about metadata that report the same problem.
_IN_METADATA = {
    rules.REASSIGNED.code: paimon_metadata.REASSIGNED.code,
    rules.NEW_IDS_FOR_OLD_ROWS.code: paimon_metadata.NEW_IDS_FOR_OLD_ROWS.code,
    rules.LOST_ROWS.code: paimon_metadata.LOST_ROWS.code,
    **dict.fromkeys(
        (rule.code for rule in (rules.REPEATED_ID, rules.INVENTED_ID, rules.COMPACTION, rules.NOT_AS_STATED)),
        paimon_metadata.NOT_AS_STATED.code,
    ),
}
#: Operations that replace rows with others. The new rows are not the same rows, although they may look alike.
_REPLACING = frozenset({"OVERWRITE", "TRUNCATE"})


def row_findings(comparison: Comparison, outcome: Outcome, reassigned: Severity) -> Iterator[Finding]:
    """Yield the problems of a commit's rows.

    :param reassigned: severity of row ids that Paimon itself reassigned
    """
    for finding in _findings(comparison, outcome, reassigned):
        yield replace(finding, **provenance(comparison.snapshot))


def keeps_identities(comparison: Comparison, outcome: Outcome) -> bool:
    """Return True if the rows prove that a commit gave new ids only to new rows.

    There are two proofs. Either no key has another id. Or the new rows have other values than the disappeared ones and
    the commit names no operation: then it was not maintenance, which changes no values.
    """
    keys, moved = outcome.keys, outcome.moved
    if comparison.before is None or comparison.compaction:
        return False
    if keys is not None:
        return not (keys.reassigned or keys.exchanged or keys.repeated)
    return comparison.snapshot.operation is None and not moved.same_content


def with_rows(metadata: Iterable[Finding], rows: Sequence[Finding], keeping: Collection[int]) -> list[Finding]:
    """Return findings about metadata and rows, without metadata findings that the rows repeat or refute.

    :param keeping: snapshots whose commits are proven to have given new ids only to new rows
    """
    shown = {(_IN_METADATA.get(finding.code), finding.version) for finding in rows}
    shown |= {(paimon_metadata.REASSIGNED.code, version) for version in keeping}
    return [*(finding for finding in metadata if (finding.code, finding.version) not in shown), *rows]


def found_elsewhere(finding: Finding, names: str) -> Finding:
    """Turn a finding about invented ids into one about repeated ids.

    Live rows of files that the commit did not touch have these ids.
    """
    evidence = f"{finding.evidence} Live rows of {names}, which the commit did not touch, also have such ids."
    found = replace(finding, code=rules.REPEATED_ID.code, severity=rules.REPEATED_ID.severity, evidence=evidence)
    return rules.REPEATED_ID.worded(found)


def _findings(comparison: Comparison, outcome: Outcome, reassigned: Severity) -> Iterator[Finding]:
    moved, faults = outcome.moved, dict(outcome.faults)
    compared = comparison.before is not None and not comparison.restored
    rewritten = compared and _rewritten(comparison, moved)
    added_elsewhere = compared and comparison.snapshot.is_branch_merge and not moved.removed
    if rewritten:
        for explained in (RowFault.LOST, RowFault.ADDED):
            faults.pop(explained, None)
    if rewritten or added_elsewhere:
        others = faults.pop(RowFault.NEW_WITH_OTHER_SEQUENCE, None)
        if others and added_elsewhere:
            yield rules.REASSIGNED.found(
                "The commit added {rows:row} from elsewhere, as sys.merge_branch does, with new ids, "
                "but not the commit's own sequence number {own}.",
                severity=reassigned,
                effect=BRANCH_EFFECT,
                rows=others.count,
                own=comparison.snapshot.id,
            )
    yield from _of_compaction(faults)
    known: dict[str, Any] = {
        "operation": comparison.snapshot.name,
        "own": comparison.snapshot.id,
        "next_row_id": comparison.snapshot.next_row_id,
        "before": comparison.before.next_row_id if comparison.before else None,
    }
    for fault, rows in faults.items():
        rule, evidence = _FAULTS[fault]
        named = {name: value for name, value in known.items() if f"{{{name}}}" in evidence}
        yield rule.found(f"{evidence}{{first}}", path=_path(rows), rows=rows.count, first=_listed(rows), **named)
    if compared:
        yield from _of_identities(comparison, outcome, rewritten, reassigned)


def _of_compaction(faults: dict[RowFault, FaultyRows]) -> Iterator[Finding]:
    """Yield one finding for all problems of a compaction; other faults stay in ``faults``."""
    changed, lost, added = (
        faults.pop(fault, FaultyRows(0)) for fault in (RowFault.COMPACTED, RowFault.LOST, RowFault.ADDED)
    )
    rows = FaultyRows(0, (*changed.first, *lost.first, *added.first)[:MOST_ROWS])
    if changed.count or lost.count or added.count:
        yield rules.COMPACTION.found(
            "Of the rows that the compaction took, {lost} are missing and {changed} have other values or another "
            "sequence number; {added:row} came out that it did not take.{first}",
            path=_path(rows),
            lost=lost.count,
            changed=changed.count,
            added=added.count,
            first=_listed(rows),
        )


def _of_identities(
    comparison: Comparison, outcome: Outcome, rewritten: bool, reassigned: Severity
) -> Iterator[Finding]:
    """Yield problems of rows that returned under other ids, or did not return."""
    moved, keys, snapshot = outcome.moved, outcome.keys, comparison.snapshot
    if moved.new and (snapshot.keeps_ids or (rewritten and comparison.compaction and not comparison.may_renumber)):
        yield rules.NEW_IDS_FOR_OLD_ROWS.found(
            "{operation} brought {rows:row} under new row ids, {new}; {gone:row id of before is|row ids of before are} "
            "gone.",
            operation=snapshot.name,
            rows=moved.new,
            new=_span(moved.new_ids),
            gone=moved.removed,
        )
    elif keys is not None and keys.reassigned:
        yield rules.REASSIGNED.found(
            "{operation} wrote the rows of {keys:key} again under new row ids.{first}",
            severity=reassigned,
            operation=snapshot.name,
            keys=keys.reassigned,
            first=_pairs(keys),
        )
    elif rewritten:
        yield rules.REASSIGNED.found(
            "{operation} wrote {rows:row} again, values unchanged, under new row ids: {old} became {new}.",
            severity=reassigned,
            operation=snapshot.name,
            rows=moved.new,
            old=_span(moved.removed_ids),
            new=_span(moved.new_ids),
        )
    if snapshot.operation == "UPDATE" and moved.after < moved.before:
        yield rules.LOST_ROWS.found(
            "UPDATE took {before:row} and brought {after}: {lost} are lost.",
            before=moved.before,
            after=moved.after,
            lost=moved.before - moved.after,
        )
    if keys is not None and keys.exchanged:
        yield rules.EXCHANGED_KEYS.found(
            "{keys:key} came back under the id of another row.{first}", keys=keys.exchanged, first=_pairs(keys)
        )
    if keys is not None and keys.repeated:
        yield rules.KEYS_NOT_USABLE.found(
            "Among the rows that this commit changed, {keys:key belongs|keys belong} to several rows.",
            keys=keys.repeated,
        )


def _rewritten(comparison: Comparison, moved: MoveCounts) -> bool:
    """Return True if a commit gave rows new ids and changed nothing else.

    If the commit declares that it replaces rows, equal values do not make them the same rows. A commit without an
    operation, such as maintenance, may have kept the ids of other rows.
    """
    operation = comparison.snapshot.operation
    if operation in _REPLACING or (moved.kept and operation is not None):
        return False
    return bool(moved.new) and moved.new == moved.removed and moved.same_content


_FAULTS: dict[RowFault, tuple[Rule, str]] = {
    RowFault.TAKEN: (rules.NOT_AS_STATED, "{rows:row is|rows are} gone, but {operation} only adds rows."),
    RowFault.TOUCHED: (
        rules.NOT_AS_STATED,
        "{rows:row has|rows have} other values or another sequence number, but {operation} changes no rows.",
    ),
    RowFault.REUSED: (
        rules.INVENTED_ID,
        "{rows:row has|rows have} the id of a row that {operation} replaced; new rows get new ids.",
    ),
    RowFault.NO_ID: (
        rules.NO_ID,
        "{rows:row has|rows have} neither an id in the data file nor one that follows from its first row id.",
    ),
    RowFault.REPEATED: (rules.REPEATED_ID, "{rows:row id} came with this commit for more than one row each."),
    RowFault.IMPOSSIBLE_ID: (
        rules.OUT_OF_RANGE,
        "{rows:row has|rows have} an id that is negative or not below nextRowId ({next_row_id}).",
    ),
    RowFault.IMPOSSIBLE_SEQUENCE: (
        rules.OUT_OF_RANGE,
        "{rows:row has|rows have} a sequence number below 1, above the snapshot's id ({own}), or outside what the "
        "manifest records for the file.",
    ),
    RowFault.INVENTED: (
        rules.INVENTED_ID,
        "{rows:row has|rows have} an id below the previous nextRowId ({before}) that no row had which the commit took.",
    ),
    RowFault.WENT_BACK: (
        rules.SEQUENCE_WENT_BACK,
        "{rows:row has|rows have} a lower sequence number than before the commit.",
    ),
    RowFault.SILENT: (
        rules.SILENT_CHANGE,
        "{rows:row has|rows have} other values than before the commit, under the same row id and sequence number.",
    ),
    **dict.fromkeys(
        (RowFault.OTHER_SEQUENCE, RowFault.NEW_WITH_OTHER_SEQUENCE),
        (
            rules.OTHER_SEQUENCE,
            "{rows:row} got a sequence number with this commit that is not the commit's own ({own}).",
        ),
    ),
}


def _path(rows: FaultyRows) -> str | None:
    return rows.first[0].file if rows.first and rows.first[0].position is not None else None


def _listed(rows: FaultyRows) -> str:
    """Return the first of the rows, as a sentence."""
    texts = []
    for row in rows.first:
        course = " → ".join("gone" if number is None else str(number) for number in (row.before, row.after))
        if row.before is None:
            course = str(row.after)
        place = "" if row.position is None else f"; row {row.position} of {row.file}"
        texts.append(f"id {row.id} (sequence number {course}{place})")
    return f" The first: {', '.join(texts)}." if texts else ""


def _pairs(keys: MovedKeys) -> str:
    pairs = ", ".join(f"{before} → {after}" for before, after in keys.first)
    return f" The first, by their ids: {pairs}." if pairs else ""


def _span(ids: tuple[int, int] | None) -> str:
    return "" if ids is None else str(ids[0]) if ids[0] == ids[1] else f"{ids[0]}-{ids[1]}"


#: Maximum findings of one rule; further files are only counted.
_MOST = 20


@dataclass(frozen=True)
class FileFault:
    """A problem of a data file.

    :param says: text after the file's name; files with the same text are reported together
    :param effect: effect, if it differs from the rule's text
    :param remedy: remedy, if it differs from the rule's text
    :param since: first snapshot with the problem; None for the one that added the file
    """

    rule: Rule
    file: DataFile
    says: str
    effect: str | None = None
    remedy: str | None = None
    since: Snapshot | None = None


def differs(file: DataFile, why: str) -> FileFault:
    """Return a fault: a file differs from its manifest entry."""
    return FileFault(rules.NOT_AS_RECORDED, file, f"differs from its manifest entry: {why}.")


def unreadable(file: DataFile, why: str) -> FileFault:
    """Return a fault: a file is missing or damaged."""
    return FileFault(rules.UNREADABLE, file, f"cannot be read: {why}.")


def unread(file: DataFile, why: str, remedy: str | None = None) -> FileFault:
    """Return a fault: a file cannot be read here."""
    return FileFault(rules.UNREAD, file, f"was not read: {why}.", remedy=remedy)


def findings_of(faults: Iterable[FileFault], lifetimes: Lifetimes) -> list[Finding]:
    """Return findings, each for the files with the same problem, at the first snapshot that has it.

    An error is healed once none of its files is live. Undecided findings are never healed.
    """
    alike: dict[tuple[Rule, str, str | None, str | None], list[FileFault]] = defaultdict(list)
    for fault in faults:
        alike[fault.rule, fault.says, fault.effect, fault.remedy].append(fault)
    by_rule: dict[Rule, list[Finding]] = defaultdict(list)
    for (rule, says, effect, remedy), group in alike.items():
        first, *others = (fault.file.name for fault in group)
        more = " {others:more file has|more files have} the same problem: {names}." if others else ""
        finding = rule.found(
            "{file} {says}" + more,
            path=None if others else first,
            effect=effect,
            remedy=remedy,
            file=first,
            says=Prose(says),
            others=len(others),
            names=listed(others),
        )
        files = [fault.file for fault in group]
        removed_in = lifetimes.removed_since(files) if rule.severity is Severity.ERROR else None
        by_rule[rule].append(replace(finding, healed_version=removed_in, **_since(group, lifetimes)))
    reported: list[Finding] = []
    for rule, found in by_rule.items():
        found.sort(key=lambda finding: (not finding.is_open, finding.version or 0))
        if (rest := len(found) - _MOST) > 0:
            last = found[_MOST - 1]
            evidence = f"{last.evidence} {rest:,} more files have other problems of this kind."
            found[_MOST - 1] = rule.worded(replace(last, evidence=evidence, facts={**(last.facts or {}), "more": rest}))
        reported += found[:_MOST]
    return reported


def _since(group: Iterable[FileFault], lifetimes: Lifetimes) -> dict[str, Any]:
    known = [fault.since or next(iter(lifetimes.added_by([fault.file])), None) for fault in group]
    snapshots = [snapshot for snapshot in known if snapshot is not None]
    if len(snapshots) == len(known):
        return provenance(min(snapshots, key=lambda snapshot: snapshot.id))
    return {"version": lifetimes.history.start.snapshot.id, "at_or_before": True}
