"""Rules about rows from one snapshot to the next: PD01 to PD11, from counts and the first rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.checks import paimon_metadata
from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.row_outcome import MOST_ROWS, FaultyRows, Moved, MovedKeys, Outcome, RowFault
from airflow_delta_provider.domain.paimon.snapshot_rules import BRANCH_EFFECT
from airflow_delta_provider.domain.paimon.violation import provenance
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Rules about rows, with the weaker rules about metadata that report the same problem.
_IN_METADATA = {
    rules.REASSIGNED.code: paimon_metadata.REASSIGNED.code,
    rules.NEW_IDS_FOR_OLD_ROWS.code: paimon_metadata.NEW_IDS_FOR_OLD_ROWS.code,
    rules.LOST_ROWS.code: paimon_metadata.LOST_ROWS.code,
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
    added_elsewhere = compared and comparison.snapshot.is_branch_merge and not moved.gone
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
    if snapshot.keeps_ids and moved.new:
        yield rules.NEW_IDS_FOR_OLD_ROWS.found(
            "{operation} brought {rows:row} under new row ids, {new}; {gone:row id of before is|row ids of before are} "
            "gone.",
            operation=snapshot.operation,
            rows=moved.new,
            new=_span(moved.new_ids),
            gone=moved.gone,
        )
    elif keys is not None and keys.reassigned:
        yield rules.REASSIGNED.found(
            "{operation} wrote the rows of {keys:key} again under new row ids.{first}",
            severity=reassigned,
            operation=_operation(comparison),
            keys=keys.reassigned,
            first=_pairs(keys),
        )
    elif rewritten:
        yield rules.REASSIGNED.found(
            "{operation} wrote {rows:row} again, values unchanged, under new row ids: {old} became {new}.",
            severity=reassigned,
            operation=_operation(comparison),
            rows=moved.new,
            old=_span(moved.gone_ids),
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


def _rewritten(comparison: Comparison, moved: Moved) -> bool:
    """Return True if a commit gave rows new ids and changed nothing else.

    If the commit declares that it replaces rows, equal values do not make them the same rows. A commit without an
    operation, such as maintenance, may have kept the ids of other rows.
    """
    operation = comparison.snapshot.operation
    if operation in _REPLACING or (moved.kept and operation is not None):
        return False
    return bool(moved.new) and moved.new == moved.gone and moved.same_content


def _operation(comparison: Comparison) -> str:
    snapshot = comparison.snapshot
    return snapshot.operation or f"A commit of kind {snapshot.commit_kind} without operation"


_FAULTS: dict[RowFault, tuple[Rule, str]] = {
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
