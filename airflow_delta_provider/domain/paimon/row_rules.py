"""What is wrong with rows from one snapshot to the next: PD01 to PD11, from what was counted and the first rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from airflow_delta_provider.domain.checks import paimon_rows as rules
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.paimon.changed_rows import Comparison
from airflow_delta_provider.domain.paimon.provenance import provenance
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

#: Rows that a finding names.
MOST_ROWS = 5
#: Operations that put rows in the place of others, which are then not the same rows, though they may look alike.
_REPLACING = frozenset({"OVERWRITE", "TRUNCATE"})


class RowFault(Enum):
    """What may be wrong with a row id in one commit; of several the first counts."""

    NO_ID = "no_id"
    REPEATED = "repeated"
    IMPOSSIBLE_ID = "impossible_id"
    IMPOSSIBLE_SEQUENCE = "impossible_sequence"
    COMPACTED = "compacted"
    INVENTED = "invented"
    WENT_BACK = "went_back"
    SILENT = "silent"
    OTHER_SEQUENCE = "other_sequence"


@dataclass(frozen=True)
class ChangedRow:
    """A row id before and after a commit.

    :param before: its sequence number before; None where no such row was among those that the commit took
    :param after: likewise after it
    :param file: name of the data file that has it after the commit, or had it before
    :param position: in that file, physical, from 0; None where that is not told
    """

    id: int | None
    before: int | None
    after: int | None
    file: str
    position: int | None


@dataclass(frozen=True)
class FaultyRows:
    """Rows with one fault.

    :param count: how many there are
    :param first: the first of them, by id
    """

    count: int
    first: tuple[ChangedRow, ...] = ()


@dataclass(frozen=True)
class Moved:
    """How many of the rows that a commit took came back under their ids, and how many came under new ones.

    :param same_content: whether those that are gone and those that are new have the same values, all in all
    """

    kept: int
    gone: int
    new: int
    same_content: bool


@dataclass(frozen=True)
class MovedKeys:
    """Keys of rows that a commit took and brought, each with one id before and one after.

    :param reassigned: keys whose id is a new one
    :param exchanged: keys whose id is another old one
    :param repeated: keys that several rows have
    :param first: the first of those that moved: id before, id after
    """

    reassigned: int
    exchanged: int
    repeated: int
    first: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a comparison came to."""

    moved: Moved
    faults: Mapping[RowFault, FaultyRows]
    keys: MovedKeys | None = None


def row_findings(comparison: Comparison, outcome: Outcome, reassigned: Severity) -> Iterator[Finding]:
    """Yield what is wrong with the rows of a commit.

    :param reassigned: severity of row ids that Paimon itself gave anew
    """
    where = provenance(comparison.snapshot)
    for fault, rows in outcome.faults.items():
        rule, say = _SAYINGS[fault]
        path = rows.first[0].file if rows.first and rows.first[0].position is not None else None
        yield rule.finding(f"{say(rows, comparison)} {_listed(rows)}", path=path, **where)
    if comparison.before is None or comparison.restored:
        return
    keys = outcome.keys
    if keys is not None and keys.reassigned:
        yield replace(
            rules.REASSIGNED.finding(
                f"{_count(keys.reassigned, 'key')} came back under new row ids: {_doing(comparison)} took the rows, "
                f"and wrote them as new ones. {_pairs(keys)}",
                **where,
            ),
            severity=reassigned,
        )
    elif _rewritten(comparison, outcome.moved):
        yield replace(
            rules.REASSIGNED.finding(
                f"{_doing(comparison)} wrote {_count(outcome.moved.new, 'row')} anew, values unchanged, and gave all "
                "of them new row ids and sequence numbers.",
                **where,
            ),
            severity=reassigned,
        )
    if keys is not None and keys.exchanged:
        yield rules.EXCHANGED_KEYS.finding(
            f"{_count(keys.exchanged, 'key')} came back under the id of another row. {_pairs(keys)}", **where
        )
    if keys is not None and keys.repeated:
        yield rules.KEYS_NOT_USABLE.finding(
            f"{_count(keys.repeated, 'key')} of the rows that this commit changed are those of several rows; whether "
            "they kept their row ids is not known. Name columns that together have no value twice.",
            **where,
        )


def keeps_identities(comparison: Comparison, outcome: Outcome) -> bool:
    """Whether the rows prove that a commit gave new ids to new rows only.

    Either no key has another id, or the new rows have other values than those that are gone and the commit names no
    operation: maintenance, which changes no values, it then was not.
    """
    keys, moved = outcome.keys, outcome.moved
    if comparison.before is None:
        return False
    if keys is not None:
        return not (keys.reassigned or keys.exchanged or keys.repeated)
    return comparison.snapshot.operation is None and not moved.same_content


def found_elsewhere(finding: Finding, names: str) -> Finding:
    """Return the finding about ids that the commit did not take over, where live rows of other files have them."""
    message = f"{finding.message} Live rows of {names}, which the commit left where they were, have such ids, too."
    return replace(finding, code=rules.REPEATED_ID.code, severity=rules.REPEATED_ID.severity, message=message)


def _rewritten(comparison: Comparison, moved: Moved) -> bool:
    """Whether a commit gave rows new ids and changed nothing else.

    Where the commit says that it puts rows in the place of others, equal values do not make them the same.
    """
    replacing = comparison.snapshot.operation in _REPLACING
    return bool(moved.new) and moved.new == moved.gone and not moved.kept and moved.same_content and not replacing


def _doing(comparison: Comparison) -> str:
    snapshot = comparison.snapshot
    return snapshot.operation or f"A commit of kind {snapshot.commit_kind} that names no operation"


def _no_id(rows: FaultyRows, _: Comparison) -> str:
    return f"{_rows_have(rows)} neither an id in the data file nor one that follows from the file's first."


def _repeated(rows: FaultyRows, _: Comparison) -> str:
    return f"{_count(rows.count, 'row id')} came with this commit for more than one row each."


def _impossible_id(rows: FaultyRows, comparison: Comparison) -> str:
    return f"{_rows_have(rows)} an id that is negative or not below nextRowId ({comparison.snapshot.next_row_id})."


def _impossible_sequence(rows: FaultyRows, comparison: Comparison) -> str:
    return (
        f"{_rows_have(rows)} a sequence number below 1, above the snapshot's id ({comparison.snapshot.id}), or not "
        "between the lowest and the highest that the manifest gives the file."
    )


def _compacted(rows: FaultyRows, _: Comparison) -> str:
    return f"{_count(rows.count, 'row')} did not come out of the compaction with id, sequence number and values."


def _invented(rows: FaultyRows, comparison: Comparison) -> str:
    given_out = None if comparison.before is None else comparison.before.next_row_id
    return (
        f"{_rows_have(rows)} an id below the nextRowId before the commit ({given_out}), though no row that the "
        "commit took had it."
    )


def _went_back(rows: FaultyRows, _: Comparison) -> str:
    return f"{_rows_have(rows)} a lower sequence number than before the commit."


def _silent(rows: FaultyRows, _: Comparison) -> str:
    return f"{_rows_have(rows)} other values than before the commit, under the same row id and sequence number."


def _other_sequence(rows: FaultyRows, comparison: Comparison) -> str:
    return f"{_rows_have(rows)} got a sequence number with this commit that is not its own ({comparison.snapshot.id})."


_SAYINGS: dict[RowFault, tuple[Rule, Callable[[FaultyRows, Comparison], str]]] = {
    RowFault.NO_ID: (rules.NO_ID, _no_id),
    RowFault.REPEATED: (rules.REPEATED_ID, _repeated),
    RowFault.IMPOSSIBLE_ID: (rules.OUT_OF_RANGE, _impossible_id),
    RowFault.IMPOSSIBLE_SEQUENCE: (rules.OUT_OF_RANGE, _impossible_sequence),
    RowFault.COMPACTED: (rules.COMPACTION, _compacted),
    RowFault.INVENTED: (rules.INVENTED_ID, _invented),
    RowFault.WENT_BACK: (rules.SEQUENCE_WENT_BACK, _went_back),
    RowFault.SILENT: (rules.SILENT_CHANGE, _silent),
    RowFault.OTHER_SEQUENCE: (rules.OTHER_SEQUENCE, _other_sequence),
}


def _rows_have(rows: FaultyRows) -> str:
    return f"{_count(rows.count, 'row')} {'has' if rows.count == 1 else 'have'}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _listed(rows: FaultyRows) -> str:
    """Return, as a sentence, the first of the rows."""
    texts = []
    for row in rows.first:
        course = " → ".join("gone" if number is None else str(number) for number in (row.before, row.after))
        if row.before is None:
            course = str(row.after)
        place = "" if row.position is None else f"; row {row.position} of {row.file}"
        texts.append(f"id {row.id} (sequence number {course}{place})")
    return f"The first: {', '.join(texts)}." if texts else ""


def _pairs(keys: MovedKeys) -> str:
    pairs = ", ".join(f"{before} → {after}" for before, after in keys.first)
    return f"The first, by their ids: {pairs}." if pairs else ""
