"""Identity columns: MD15 and MD18. PROTOCOL.md, Identity Columns."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change, on_state
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.metadata.changes import OF_EARLIER, is_compared
from airflow_delta_provider.domain.checks.metadata.family import FAMILY, IDENTITY, MOST_TEXT, RESTORE
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_KEY = "delta.identity"
_NUMBERS = ("start", "step", "highWaterMark")
_NUMBER = (int, type(None))

BROKEN_IDENTITY = FAMILY.of(Scope.STATE).error(
    18,
    "identity column that cannot assign values",
    effect="Engines fail to write rows, or assign the same value to all of them.",
    remedy=RESTORE,
    source=IDENTITY,
)


@on_state(BROKEN_IDENTITY)
def _broken(state: TableState) -> Iterator[Finding]:
    if _KEY not in state.metadata.schema_string:
        return
    for column in state.metadata.readable_columns or ():
        said = {name: column.field.metadata.get(f"{_KEY}.{name}") for name in _NUMBERS}
        wrong = {name: f"{value!r:.{MOST_TEXT}}" for name, value in said.items() if type(value) not in _NUMBER}
        wrong |= {"step": "0"} if said["step"] == 0 else {}
        if wrong and column.kinds[-1] == "field":
            yield BROKEN_IDENTITY.found(
                "The identity column {column} cannot assign values: its {what}.",
                column=column,
                what=Prose(" and its ".join(f"{name} is {value}" for name, value in wrong.items())),
                wrong=wrong,
            )


IDENTITY_SET_BACK = FAMILY.of(Scope.PAIR).warning(
    15,
    "identity column set back",
    effect="The next rows get values that other rows have.",
    remedy="Raise the high water mark: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
    source=IDENTITY,
    needs=OF_EARLIER,
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
