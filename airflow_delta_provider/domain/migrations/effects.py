"""What a step means beyond itself: what it rewrites, how it is undone, what breaks downstream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.step import Step
from airflow_delta_provider.domain.delta.column import column_texts, path_text
from airflow_delta_provider.domain.delta.expression import refers_to
from airflow_delta_provider.domain.delta.features.columns import GENERATED_COLUMNS
from airflow_delta_provider.domain.delta.features.row_tracking import ROW_TRACKING
from airflow_delta_provider.domain.delta.features.state import is_active
from airflow_delta_provider.domain.delta.features.traces import REMOVALS
from airflow_delta_provider.domain.delta.table_state import TableState

_RESTORE = "RESTORE to the version before"
_STREAMS = (
    "Streams that read the table stop: those with schemaTrackingLocation continue once the change is confirmed to "
    "them, others need a new checkpoint."
)
_RESTART = "Streams that read the table stop once; after a restart they continue with the new schema."
_CHANGE_DATA = "Readers of the change data feed cannot read a range of versions across this change in one query."
_VIEWS = "Views and queries that name {columns} fail."


@dataclass(frozen=True)
class Effects:
    """What a step does beyond itself.

    :param metadata_only: whether no data file is read or written
    :param files: number of data files that are rewritten
    :param size: their size in bytes
    :param undo: how it can be undone, in a sentence
    :param breaks: what breaks downstream, in sentences
    """

    metadata_only: bool = True
    files: int = 0
    size: int = 0
    undo: str = f"{_RESTORE}, or declare the state before."
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


#: Of steps whose effects depend on nothing else.
_EFFECTS = {
    steps.AddColumns: Effects(
        undo="Declare the column as dropped, which needs column mapping; RESTORE does it, too.",
        breaks=(_RESTART, "Writers that insert by position with the old number of columns fail."),
    ),
    steps.OrderFields: Effects(
        undo="Declare the old order; RESTORE does it, too.",
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

    :param before: the table that the plan was made on
    """
    match step:
        case steps.SetProperties(enables=(_, *_)):
            return Effects(
                undo="RESTORE never takes a table feature away; DROP FEATURE does, where the feature can be dropped, "
                "and may add checkpointProtection.",
                breaks=(f"Readers or writers that do not know {', '.join(step.enables)} are locked out.",),
                metadata_only=not (ROW_TRACKING.name in step.enables and before.files),
            )
        case steps.RenameColumns():
            columns = ", ".join(path_text(column.parts) for column in step.columns)
            return Effects(
                undo="Rename back; RESTORE does it, too.",
                breaks=(_STREAMS, *_change_data(before), _VIEWS.format(columns=columns)),
            )
        case steps.WidenColumns():
            return Effects(
                undo="Not by a change of types. RESTORE brings the old type back only while no file with the new one "
                "is live; the table feature stays.",
                breaks=(
                    _STREAMS,
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
                undo=f"{_RESTORE}, which also undoes all later changes of data. Files keep the values until they are "
                "rewritten.",
                breaks=(
                    _STREAMS,
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
    breaks = ["Streams that read the table stop, and need a new checkpoint: all rows are written again."]
    if before.metadata.properties.change_data_feed:
        breaks.append("The change data feed shows every row as deleted and inserted.")
    if is_active(ROW_TRACKING, before.protocol, before.metadata):
        breaks.append("Every row gets a new row id.")
    return Effects(
        metadata_only=False,
        files=step.files,
        size=step.size,
        undo=f"{_RESTORE}, until VACUUM deletes the old files.",
        breaks=tuple(breaks),
    )


def _change_data(before: TableState) -> Iterator[str]:
    if before.metadata.properties.change_data_feed:
        yield _CHANGE_DATA
