"""Identity columns: MD15, MD18, MD24, MD25, MD35 and MD36. PROTOCOL.md, Identity Columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from airflow_delta_provider.domain.checks.check import on_change, on_state, on_tracked
from airflow_delta_provider.domain.checks.metadata import FAMILY, IDENTITY, MOST_TEXT, RESTORE
from airflow_delta_provider.domain.checks.metadata.changes import OF_EARLIER, fields_by_id, is_compared
from airflow_delta_provider.domain.checks.rule import Details, Healing, Prose, RepairMethod, Scope
from airflow_delta_provider.domain.delta.column_statistics import BOUNDS, read_statistics
from airflow_delta_provider.domain.delta.commit import Action, Commit
from airflow_delta_provider.domain.delta.data_type import LONG, Column
from airflow_delta_provider.domain.delta.features.columns import (
    ALLOW_EXPLICIT_INSERT,
    HIGH_WATER_MARK,
    KEY,
    START,
    STEP,
    Identity,
)
from airflow_delta_provider.domain.delta.metadata import Metadata, physical_name
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity

_state = FAMILY.of(Scope.STATE, IDENTITY)
_pair = FAMILY.of(Scope.PAIR, IDENTITY, needs=OF_EARLIER)

BROKEN_IDENTITY = _state.error(
    18,
    "identity column that cannot assign values",
    name="identity-column-unusable",
    effect="Engines fail to write rows, or assign the same value to all of them.",
    remedy=RESTORE,
)


@on_state(BROKEN_IDENTITY)
def _broken(state: TableState) -> Iterator[Finding]:
    for column in _identity_columns(state.metadata):
        wrong = dict(_wrong(column))
        if wrong:
            yield BROKEN_IDENTITY.found(
                "The identity column {column} cannot assign values: its {what}.",
                column=column,
                what=Prose(" and its ".join(f"{name} is {value}" for name, value in wrong.items())),
                wrong=wrong,
            )


def _wrong(column: Column) -> Iterator[tuple[str, str]]:
    """Yield the faults of an identity column: the name of a property, and its value."""
    metadata = column.field.metadata
    for name, needed in (("start", True), ("step", True), ("highWaterMark", False)):
        value = metadata.get(f"{KEY}.{name}")
        if not _is_long(value) and (needed or value is not None):
            yield name, "missing" if value is None else f"{value!r:.{MOST_TEXT}}"
    if metadata.get(STEP) == 0:
        yield "step", "0"
    explicit = metadata.get(ALLOW_EXPLICIT_INSERT)
    if not isinstance(explicit, bool):
        yield "allowExplicitInsert", "missing" if explicit is None else f"{explicit!r:.{MOST_TEXT}}"
    if column.data_type != LONG:
        yield "type", str(column.data_type)


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


MARK_OFF_SEQUENCE = _state.error(
    25,
    "identity column's high water mark outside its sequence",
    name="identity-high-water-mark-outside-sequence",
    effect="Delta Spark fails to write rows; other engines assign values that the column should not have.",
    remedy="Set it again: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
)


@on_state(MARK_OFF_SEQUENCE)
def _off_sequence(state: TableState) -> Iterator[Finding]:
    for column in _identity_columns(state.metadata):
        start, step, mark = map(column.field.metadata.get, (START, STEP, HIGH_WATER_MARK))
        if dict(_wrong(column)) or mark is None:
            continue
        before_start = (mark - start) * step < 0
        if (mark - start) % step or (before_start and not column.field.metadata[ALLOW_EXPLICIT_INSERT]):
            yield MARK_OFF_SEQUENCE.found(
                "The high water mark of {column} is {mark}, but its values begin with {start} and continue by {step}.",
                severity=None if (mark - start) % step else Severity.WARNING,
                effect=None if (mark - start) % step else "The next rows may get values that other rows have.",
                column=column,
                mark=mark,
                start=start,
                step=step,
            )


IDENTITY_CHANGED = _pair.warning(
    24,
    "identity column defined again",
    name="identity-column-redefined",
    effect="New values may repeat values of other rows, and do not continue the sequence.",
    remedy=RESTORE,
)
_FIXED = ("start", "step", "allowExplicitInsert")


@on_change(IDENTITY_CHANGED)
def _changed(transition: Transition) -> Iterator[Finding]:
    if not is_compared(transition) or transition.replaces_all or KEY not in transition.before.metadata.schema_string:
        return
    states = transition.before.metadata, transition.after.metadata
    mapped = all(metadata.properties.is_mapped for metadata in states)
    before, after = (fields_by_id(metadata, mapped=mapped) for metadata in states)
    for key, was in before.items():
        now = after.get(key) if _is_identity(was) else None
        if now is None or dict(_wrong(was)) or now.data_type != was.data_type:
            continue
        values = {name: tuple(column.field.metadata.get(f"{KEY}.{name}") for column in (was, now)) for name in _FIXED}
        changed = {name: list(pair) for name, pair in values.items() if pair[0] != pair[1]}
        if changed and (not dict(_wrong(now)) or not _is_identity(now)):
            yield IDENTITY_CHANGED.found(
                "The commit changes the identity column {column}: its {what}."
                if _is_identity(now)
                else "The commit makes the identity column {column} an ordinary one.",
                column=now,
                what=Prose(" and its ".join(f"{name} from {pair[0]} to {pair[1]}" for name, pair in changed.items())),
                changed=changed,
            )


def _identity_columns(metadata: Metadata) -> Iterator[Column]:
    """Yield the columns with identity keys in their metadata."""
    if KEY in metadata.schema_string:
        yield from filter(_is_identity, metadata.readable_columns or ())


def _is_identity(column: Column) -> bool:
    return column.kinds[-1] == "field" and any(key.startswith(KEY) for key in column.field.metadata)


IDENTITY_SET_BACK = _pair.warning(
    15,
    "identity column set back",
    name="identity-column-set-back",
    effect="The next rows get values that other rows have.",
    remedy="Raise the high water mark: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
)


@on_change(IDENTITY_SET_BACK)
def _set_back(transition: Transition) -> Iterator[Finding]:
    """Compare marks by names in files, as Delta does: a column that was dropped and created again is another one."""
    is_restore = transition.restores and transition.past.had_identity
    if len(transition.commit.metadata) != 1 or (transition.keeps_no_file and not is_restore):
        return
    before, after = (_by_name_in_files(state.metadata) for state in (transition.before, transition.after))
    for name, was in before.items():
        column = after.get(name)
        start, step, mark = map(was.field.metadata.get, (START, STEP, HIGH_WATER_MARK))
        if column is None or type(step) is not int or type(mark) is not int or column.field.metadata.get(STEP) != step:
            continue
        if is_restore and (
            type(start) is not int or column.field.metadata.get(START) != start or (mark - start) * step < 0
        ):
            continue  # RESTORE keeps only marks that are one of the column's own values
        now = column.field.metadata.get(HIGH_WATER_MARK)
        now = now if type(now) is int else None
        if now is None or (now - mark) * step < 0:
            yield IDENTITY_SET_BACK.found(
                f"The commit {'restores an earlier version, and ' if is_restore else ''}sets the identity column "
                f"{{column}} back from {{before}} to {'its start' if now is None else '{after}'}.",
                effect="The next rows get values that were assigned before, at least to rows of versions that can "
                "still be restored. Delta Spark keeps the highest mark."
                if is_restore
                else None,
                remedy="If nothing else keeps the values, nothing needs to be done. Otherwise RESTORE the version "
                "before this commit with Delta Spark, make the changes again, and update the engine that wrote it."
                if is_restore
                else None,
                column=column,
                before=mark,
                after=now,
            )


def _assigned(finding: Finding, transition: Transition) -> Details:
    """Return the value, and the column's name in files, which stays the same if the column is renamed."""
    names = {str(column): name for name, column in _by_name_in_files(transition.after.metadata).items()}
    return {"value": (finding.facts or {})["value"], "field": names[str(finding.column)]}


def _is_past_mark(later: Transition, _: Finding, details: Details) -> bool:
    column = _by_name_in_files(later.after.metadata).get(details["field"])
    identity = None if column is None else Identity.of(column.field.metadata)
    return identity is not None and not identity.has_assigned(details["value"])


PAST_MARK = FAMILY.of(Scope.COMMIT, IDENTITY).warning(
    35,
    "values past an identity column's high water mark",
    name="identity-values-past-high-water-mark",
    effect="The next rows get values that other rows have.",
    remedy="Raise the high water mark: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
    shows="add",
    healing=Healing(_is_past_mark, _assigned, needs_details=True),
    about_live_files=True,
    repairs=(RepairMethod.IDENTITY_MARK,),
)
ASSIGNED_AGAIN = _pair.warning(
    36,
    "values of an identity column assigned again",
    name="identity-values-assigned-again",
    effect="Rows have values that other rows have, or had.",
    remedy="Find the rows that share a value, and write the newer ones again without values for the column; update the "
    "engine that wrote the commit.",
    shows="add",
    about_live_files=True,
)


@on_tracked(PAST_MARK, ASSIGNED_AGAIN, reads=("add.path", "add.stats", "add.dataChange", "remove", "files", "metaData"))
def check_identity_values(transition: Transition, actions: Iterable[Action], *, are_new: bool) -> Iterator[Finding]:
    """Yield findings about identity columns with wrong values in added files, according to their statistics.

    Columns that accept explicit values are left out: their marks need not cover those values.

    :param actions: actions of the commit, as in the log
    :param are_new: True if the rows of a commit that only adds files are new: it neither creates nor restores the table
    """
    after = _by_name_in_files(transition.after.metadata)
    if not after:
        return
    before = _by_name_in_files(transition.before.metadata) if are_new and _only_adds(transition.commit) else {}
    new = {file.path for file in transition.new_files}
    for add in (action["add"] for action in actions if action.get("add")):
        if add["path"] in new:
            for name, column in after.items():
                yield from _of_file(add, name, column, before.get(name))


def _of_file(add: Mapping[str, Any], name: str, column: Column, before: Column | None) -> Iterator[Finding]:
    """Yield findings about the values of a column in a file.

    :param name: name of the column in the file
    :param before: the column before the commit; None if the file may have older rows
    """
    identity, bounds = Identity.of(column.field.metadata), _bounds(add, name)
    if identity is None or bounds is None:
        return
    first, last = identity.in_order(*bounds)
    if not identity.has_assigned(last):
        yield PAST_MARK.found(
            "The file {path} has the value {value} in the identity column {column}, "
            + ("which has no high water mark." if identity.mark is None else "whose high water mark is {mark}."),
            path=add["path"],
            column=column,
            value=last,
            mark=identity.mark,
        )
    earlier = None if before is None else Identity.of(before.field.metadata)
    if earlier is not None and earlier[:2] == identity[:2] and earlier.has_assigned(first):
        yield ASSIGNED_AGAIN.found(
            "The commit appends {path} with the value {value} in the identity column {column}, which had assigned it "
            "before: its high water mark was {mark}.",
            path=add["path"],
            column=column,
            value=first,
            mark=earlier.mark,
        )


def _only_adds(commit: Commit) -> bool:
    return not commit.removes and all(file.data_change for file in commit.adds)


def _bounds(add: Mapping[str, Any], name: str) -> tuple[int, int] | None:
    """Return the bounds of a column of integers in a file; None if its statistics have none."""
    try:
        stats = read_statistics(add["stats"])
        least, most = (stats[part][name] for part in BOUNDS)
    except (KeyError, TypeError, ValueError):
        return None
    return (least, most) if type(least) is int and type(most) is int else None


def _by_name_in_files(metadata: Metadata) -> dict[str, Column]:
    mode = metadata.properties.mapping_mode
    columns = (column for column in _identity_columns(metadata) if len(column.parts) == 1)
    return {physical_name(column.field, mode): column for column in columns}
