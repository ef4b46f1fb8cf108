"""The effect of a plan that failed half-way: the steps that were committed, and how to undo them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.changes.explain import action_of
from airflow_delta_provider.domain.changes.step import SetProperties, Step
from airflow_delta_provider.domain.delta.features.traces import REMOVALS
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.effects import effects_of


def left_behind(done: Sequence[Step], before: TableState, after: Protocol) -> str:
    """Return the effects of the first steps of a plan and how to undo them, in sentences.

    :param done: steps that succeeded
    :param before: state that the plan was made on
    :param after: current protocol
    """
    return " ".join(_sentences(done, before, after))


def _sentences(done: Sequence[Step], before: TableState, after: Protocol) -> Iterator[str]:
    if done:
        yield f"Done: {'; '.join(map(action_of, done))}."
    if after != before.protocol:
        yield f"The protocol was {before.protocol} and is now {after}."
    added = sorted(after.features - before.protocol.features)
    if removable := [name for name in added if name in REMOVALS]:
        yield f"To give the change up, drop {', '.join(removable)} (drop-feature)."
    if lasting := [name for name in added if name not in REMOVALS]:
        yield f"{', '.join(lasting)} cannot be dropped."
    undos = dict.fromkeys(effects_of(step, before).undo for step in done if not _only_enables(step))
    if undos:
        yield f"To undo these steps: {' '.join(undos)}"


def _only_enables(step: Step) -> bool:
    return isinstance(step, SetProperties) and bool(step.enables)
