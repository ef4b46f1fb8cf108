"""Identity columns: MD15, MD18, MD24 and MD25. PROTOCOL.md, Identity Columns."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change, on_state
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.metadata.changes import OF_EARLIER, is_compared
from airflow_delta_provider.domain.checks.metadata.family import FAMILY, IDENTITY, MOST_TEXT, RESTORE
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.delta.column import Column
from airflow_delta_provider.domain.delta.data_type import LONG
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

_KEY = "delta.identity"
_EXPLICIT = f"{_KEY}.allowExplicitInsert"
_state = FAMILY.of(Scope.STATE, IDENTITY)
_pair = FAMILY.of(Scope.PAIR, IDENTITY, needs=OF_EARLIER)

BROKEN_IDENTITY = _state.error(
    18,
    "identity column that cannot assign values",
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
    """Yield what is wrong with an identity column: the name of a property, and its value."""
    metadata = column.field.metadata
    for name, needed in (("start", True), ("step", True), ("highWaterMark", False)):
        value = metadata.get(f"{_KEY}.{name}")
        if not _is_long(value) and (needed or value is not None):
            yield name, "missing" if value is None else f"{value!r:.{MOST_TEXT}}"
    if metadata.get(f"{_KEY}.step") == 0:
        yield "step", "0"
    explicit = metadata.get(_EXPLICIT)
    if not isinstance(explicit, bool):
        yield "allowExplicitInsert", "missing" if explicit is None else f"{explicit!r:.{MOST_TEXT}}"
    if column.data_type != LONG:
        yield "type", str(column.data_type)


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


MARK_OFF_SEQUENCE = _state.error(
    25,
    "identity column's high water mark outside its sequence",
    effect="Delta Spark fails to write rows; other engines assign values that the column should not have.",
    remedy="Set it again: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
    follows_from=causes("MD24", "MD15"),
)


@on_state(MARK_OFF_SEQUENCE)
def _off_sequence(state: TableState) -> Iterator[Finding]:
    for column in _identity_columns(state.metadata):
        start, step, mark = (column.field.metadata.get(f"{_KEY}.{name}") for name in ("start", "step", "highWaterMark"))
        if dict(_wrong(column)) or mark is None:
            continue
        before_start = (mark - start) * step < 0
        if (mark - start) % step or (before_start and not column.field.metadata[_EXPLICIT]):
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
    effect="New values may be equal to those of other rows, and do not continue the sequence.",
    remedy=RESTORE,
)
_FIXED = ("start", "step", "allowExplicitInsert")


@on_change(IDENTITY_CHANGED)
def _changed(transition: Transition) -> Iterator[Finding]:
    if not is_compared(transition) or transition.replaces_all:
        return
    columns = {str(column): column for column in transition.after.metadata.readable_columns or ()}
    for was in _identity_columns(transition.before.metadata):
        now = columns.get(str(was))
        if now is None or dict(_wrong(was)) or now.data_type != was.data_type:
            continue
        values = {name: tuple(column.field.metadata.get(f"{_KEY}.{name}") for column in (was, now)) for name in _FIXED}
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
    """Yield the columns whose metadata speaks of identity."""
    if _KEY in metadata.schema_string:
        yield from filter(_is_identity, metadata.readable_columns or ())


def _is_identity(column: Column) -> bool:
    return column.kinds[-1] == "field" and any(key.startswith(_KEY) for key in column.field.metadata)


IDENTITY_SET_BACK = _pair.warning(
    15,
    "identity column set back",
    effect="The next rows get values that other rows have.",
    remedy="Raise the high water mark: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
)


@on_change(IDENTITY_SET_BACK)
def _set_back(transition: Transition) -> Iterator[Finding]:
    if not is_compared(transition) or transition.keeps_no_file:
        return
    before, after = (_identity_marks(state.metadata) for state in (transition.before, transition.after))
    for column, (step, mark) in before.items():
        step_now, now = after.get(column, (0, None))
        if step_now == step and mark is not None and (now is None or (now - mark) * step < 0):
            yield IDENTITY_SET_BACK.found(
                f"The commit sets the identity column {{column}} back from {{before}} to "
                f"{'its start' if now is None else '{after}'}.",
                column=column,
                before=mark,
                after=now,
            )


def _identity_marks(metadata: Metadata) -> dict[str, tuple[int, int | None]]:
    """Return step and highest value of the identity columns; a value is None where none was generated yet."""
    if _KEY not in metadata.schema_string:
        return {}
    found = {}
    for column in metadata.readable_columns or ():
        step, mark = (column.field.metadata.get(f"{_KEY}.{name}") for name in ("step", "highWaterMark"))
        if len(column.parts) == 1 and type(step) is int:
            found[str(column)] = (step, mark if type(mark) is int else None)
    return found
