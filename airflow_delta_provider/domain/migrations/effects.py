"""The wider effects of a step: files it rewrites, how to undo it, damage downstream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.steps import SetProperties, Step, action_of
from airflow_delta_provider.domain.checks.migrations.planned import (
    CHANGE_DATA_BREAKS,
    STREAM_BREAKS,
    STREAMS_OVERWRITTEN,
    STREAMS_RESTART,
)
from airflow_delta_provider.domain.delta.data_type import column_texts, path_text
from airflow_delta_provider.domain.delta.expression import refers_to
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS, why_not_removable
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS
from airflow_delta_provider.domain.delta.features.log import ROW_TRACKING
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_features import is_active
from airflow_delta_provider.domain.delta.table_state import TableState

_RESTORE = "RESTORE to the version before, which also takes away all rows written since"
_VIEWS = "Views and queries that name {columns} fail."


@dataclass(frozen=True)
class Effects:
    """The wider effects of a step.

    :param metadata_only: True if no data file is read or written
    :param files: number of data files to rewrite
    :param size: total size of those files in bytes
    :param undo: sentences on how to undo the step
    :param breaks: sentences on what breaks downstream
    """

    metadata_only: bool = True
    files: int = 0
    size: int = 0
    undo: str = f"Declare the state before; or {_RESTORE}."
    breaks: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports."""
        return {
            "metadata_only": self.metadata_only,
            "files": self.files,
            "bytes": self.size,
            "undo": self.undo,
            "breaks": list(self.breaks),
        }


#: Effects of steps that depend on nothing but the type of step.
_EFFECTS = {
    steps.AddColumns: Effects(
        undo=f"Declare the column as dropped, which needs column mapping; or {_RESTORE}.",
        breaks=(STREAMS_RESTART, "Writers that insert by position with the old number of columns fail."),
    ),
    steps.OrderFields: Effects(
        undo=f"Declare the old order; or {_RESTORE}.",
        breaks=("Writers that insert by position write other columns.", "Readers of SELECT * see another order."),
    ),
    steps.ForbidNulls: Effects(
        metadata_only=False,
        undo="Declare the columns nullable.",
        breaks=("Writers that leave the column out, or write NULL, fail.",),
    ),
    steps.ClusterBy: Effects(undo="Declare the old columns, or cluster_by: []; the table feature clustering stays."),
}


def effects_of(step: Step, before: TableState) -> Effects:
    """Return the effects of a step.

    :param before: state that the plan was made on
    """
    match step:
        case steps.SetProperties(enables=(_, *_)):
            return Effects(
                undo=_undone(step.enables),
                breaks=(f"Readers or writers that do not know {', '.join(step.enables)} are locked out.",),
                metadata_only=not (ROW_TRACKING.name in step.enables and before.files),
            )
        case steps.RenameColumns():
            columns = ", ".join(path_text(column.parts) for column in step.columns)
            return Effects(
                undo=f"Rename back; or {_RESTORE}.",
                breaks=(STREAM_BREAKS.effect, *_change_data(before), _VIEWS.format(columns=columns)),
            )
        case steps.WidenColumns():
            return Effects(
                undo=f"Not by a change of types: copy the rows to a new table. Or {_RESTORE}; the table feature stays.",
                breaks=(
                    STREAMS_RESTART,
                    *_change_data(before),
                    "Readers that do not know type widening cannot read the table.",
                    "Readers with the old type in their own schema may overflow.",
                ),
            )
        case steps.AddConstraint():
            return Effects(
                metadata_only=False,
                undo="Drop the constraint; the table feature checkConstraints stays.",
                breaks=(f"Writers fail on rows for which {step.expression} is not true.",),
            )
        case steps.DropColumns():
            return Effects(
                undo=f"{_RESTORE}. Files keep the values until they are rewritten.",
                breaks=(
                    STREAM_BREAKS.effect,
                    *_change_data(before),
                    _VIEWS.format(columns=", ".join(map(path_text, step.columns))),
                    *(
                        f"The generated column {column} needs it."
                        for column, text in column_texts(before.metadata.schema, GENERATED_COLUMNS.field_key)
                        if any(refers_to(text, parts) for parts in step.columns)
                    ),
                ),
            )
        case steps.DropFeature():
            return _without_feature(step)
        case steps.RewriteTable():
            return _rewritten(step, before)
        case steps.InOneCommit():
            found = [effects_of(each, before) for each in step.steps]
            return Effects(
                undo=" ".join(dict.fromkeys(each.undo for each in found)),
                breaks=tuple(dict.fromkeys(text for each in found for text in each.breaks)),
            )
        case _:
            return _EFFECTS.get(type(step), Effects())


def _undone(features: Sequence[str]) -> str:
    """Return sentences on how to remove features again."""
    droppable = [name for name in features if name in REMOVALS]
    kept = [FEATURES[name] for name in features if name in FEATURES and name not in REMOVALS]
    said = []
    if droppable:
        said.append(
            f"DROP FEATURE takes {', '.join(droppable)} away, and may add checkpointProtection; RESTORE does not."
        )
    said += [f"{feature.name} stays: {why_not_removable(feature)}" for feature in kept]
    return " ".join(said) or "RESTORE does not take a table feature away."


def _without_feature(step: steps.DropFeature) -> Effects:
    removal = REMOVALS.get(step.feature)
    protects = removal is not None and removal.protects and not step.truncate_history
    undo = "Enable the feature again; what it kept is not brought back."
    if protects:
        undo += " checkpointProtection, which the drop adds, stays."
    if step.truncate_history:
        undo += " The history that is deleted is gone."
    breaks = ("Writers that do not know checkpointProtection are locked out.",) if protects else ()
    return Effects(
        metadata_only=step.files == 0,
        files=step.files,
        size=step.size,
        undo=undo,
        breaks=(*breaks, *((removal.leaves,) if removal is not None and removal.leaves else ())),
    )


def _rewritten(step: steps.RewriteTable, before: TableState) -> Effects:
    breaks = [STREAMS_OVERWRITTEN]
    if before.metadata.properties.change_data_feed:
        breaks.append("The change data feed shows every row as deleted and inserted.")
    if is_active(ROW_TRACKING, before.protocol, before.metadata):
        breaks.append("Every row gets a new row id.")
    return Effects(
        metadata_only=False,
        files=step.files,
        size=step.size,
        undo=f"{_RESTORE}; it works until VACUUM deletes the old files.",
        breaks=tuple(breaks),
    )


def _change_data(before: TableState) -> Iterator[str]:
    if before.metadata.properties.change_data_feed:
        yield CHANGE_DATA_BREAKS.effect


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
