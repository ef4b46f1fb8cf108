"""Steps that change properties, features, constraints, clustering or all files of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial, reduce
from typing import ClassVar

from airflow_delta_provider.domain.changes.schema import cast_field, edit_columns
from airflow_delta_provider.domain.changes.step import (
    RESTORE,
    Cast,
    Edit,
    Effects,
    Json,
    Parts,
    Step,
    files_and_size,
    path_texts,
    quoted_path,
    quoted_paths,
)
from airflow_delta_provider.domain.changes.steps.columns import RETYPED, retyped
from airflow_delta_provider.domain.checks.migrations.planned import STREAMS_OVERWRITTEN, DroppedFeature
from airflow_delta_provider.domain.delta.data_type import path_text
from airflow_delta_provider.domain.delta.feature_traces import REMOVALS, why_not_removable
from airflow_delta_provider.domain.delta.features.columns import TYPE_CHANGES_KEY, USAGE_TRACKING
from airflow_delta_provider.domain.delta.features.log import ROW_TRACKING
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.delta.metadata import CHAR_OR_VARCHAR
from airflow_delta_provider.domain.delta.protocol import weakest_protocol
from airflow_delta_provider.domain.delta.table_properties import CONSTRAINT_PREFIX, DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import CommitBase, TableState
from airflow_delta_provider.domain.table_name import TableName
from airflow_delta_provider.domain.text import literal, quote

#: Prefixes of properties that publish a table elsewhere or redirect it. A scratch table must not have them.
OF_OTHERS = ("delta.universalformat.", "delta.redirect", "delta.coordinatedcommits.", "io.unitycatalog.")


@dataclass(frozen=True)
class SetProperties(Step):
    """Sets table properties, in one commit (more to enable row tracking on a table with files).

    :param properties: (name, value) pairs, sorted
    :param enables: features that the step adds to the table, sorted
    """

    properties: tuple[tuple[str, str], ...]
    enables: tuple[str, ...] = ()

    @property
    def action(self) -> str:
        properties = ", ".join(f"{name}={value}" for name, value in self.properties)
        return f"set {properties}" + (f", which enables {', '.join(self.enables)}" if self.enables else "")

    @property
    def clause(self) -> str:
        properties = (f"{literal(name)} = {literal(value)}" for name, value in self.properties)
        return f"SET TBLPROPERTIES ({', '.join(properties)})"

    @property
    def new_properties(self) -> Mapping[str, str]:
        return dict(self.properties)

    @property
    def can_be_rehearsed(self) -> bool:
        return not any(name.lower().startswith(OF_OTHERS) for name, _ in self.properties)

    @property
    def is_additive(self) -> bool:
        return not self.enables

    def effects(self, before: TableState) -> Effects:
        if not self.enables:
            return Effects()
        return Effects(
            undo=_undone(self.enables),
            breaks=(f"Readers or writers that do not know {', '.join(self.enables)} are locked out.",),
            metadata_only=not (ROW_TRACKING.name in self.enables and before.files),
        )

    def edited(self, metadata: Json) -> Json:
        return {**metadata, "configuration": {**metadata.get("configuration", {}), **dict(self.properties)}}

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"properties": dict(self.properties), "features_added": self.enables}


@dataclass(frozen=True)
class UnsetProperties(Step):
    """Removes table properties.

    :param names: property names, sorted
    """

    names: tuple[str, ...]

    @property
    def action(self) -> str:
        return f"unset {', '.join(self.names)}"

    @property
    def clause(self) -> str:
        return f"UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(literal, self.names))})"

    def edited(self, metadata: Json) -> Json:
        return _without_properties(metadata, self.names)

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"properties": dict.fromkeys(self.names)}


@dataclass(frozen=True)
class DropFeature(Step):
    """Drops a table feature.

    :param truncate_history: True to delete history with traces of the feature, instead of protecting that history
    :param without_sql: True if the step has no SQL
    :param files: number of data files to rewrite
    :param size: total size of those files in bytes
    """

    feature: str
    _: KW_ONLY
    truncate_history: bool = False
    without_sql: bool = False
    files: int = 0
    size: int = 0

    @property
    def action(self) -> str:
        rewrites = f", which rewrites {files_and_size(self.files, self.size)}" if self.files else ""
        truncates = ", and truncate the history that has traces of it" if self.truncate_history else ""
        return f"drop {self.feature}{rewrites}{truncates}"

    @property
    def clause(self) -> str:
        return f"DROP FEATURE {quote(self.feature)}{' TRUNCATE HISTORY' * self.truncate_history}"

    def sql(self, table: TableName) -> str | None:
        return None if self.without_sql else super().sql(table)

    @property
    def can_be_rehearsed(self) -> bool:
        return False

    @property
    def rewrites_files(self) -> bool:
        return self.files > 0

    @property
    def reads_rows(self) -> bool:
        return True

    def effects(self, before: TableState) -> Effects:
        removal = REMOVALS.get(self.feature)
        protects = removal is not None and removal.protects and not self.truncate_history
        undo = "Enable the feature again; what it kept is not brought back."
        if protects:
            undo += " checkpointProtection, which the drop adds, stays."
        if self.truncate_history:
            undo += " The history that is deleted is gone."
        breaks = ("Writers that do not know checkpointProtection are locked out.",) if protects else ()
        return Effects(
            metadata_only=self.files == 0,
            files=self.files,
            size=self.size,
            undo=undo,
            breaks=(*breaks, *((removal.leaves,) if removal is not None and removal.leaves else ())),
        )

    def edit(self, base: CommitBase) -> Edit:
        if self.feature != USAGE_TRACKING.name:
            return super().edit(base)
        # Column mapping stays as it is, with its ids and physical names.
        return Edit(
            "DROP FEATURE",
            {"featureName": self.feature},
            protocol=weakest_protocol(base.state.protocol.features - {self.feature}),
            unset_properties=(DROPPED_OR_RENAMED,),
        )

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        dropped = (DroppedFeature(self.feature, self.truncate_history),)
        return {"features_dropped": dropped, "rewritten_files": self.files, "rewritten_size": self.size}


@dataclass(frozen=True)
class CommentTable(Step):
    """Sets the comment of the table; None removes it."""

    joins_others: ClassVar[bool] = True
    breaks_nobody: ClassVar[bool] = True

    text: str | None

    @property
    def action(self) -> str:
        none = self.text is None
        return "remove the comment of the table" if none else f"set the comment of the table to {self.text!r}"

    def sql(self, table: TableName) -> str | None:
        return f"COMMENT ON TABLE {table.sql} IS {'NULL' if self.text is None else literal(self.text)}"

    def edited(self, metadata: Json) -> Json:
        others = {key: value for key, value in metadata.items() if key != "description"}
        return others if self.text is None else {**others, "description": self.text}


@dataclass(frozen=True)
class AddConstraint(Step):
    """Adds a CHECK constraint; the engine checks all rows first."""

    stores_expressions: ClassVar[bool] = True

    name: str
    expression: str

    @property
    def action(self) -> str:
        return f"add the CHECK constraint {self.name} ({self.expression}), after all rows were checked"

    @property
    def clause(self) -> str:
        return f"ADD CONSTRAINT {quote(self.name)} CHECK ({self.expression})"

    @property
    def reads_rows(self) -> bool:
        return True

    def effects(self, before: TableState) -> Effects:
        return Effects(
            metadata_only=False,
            undo="Drop the constraint; the table feature checkConstraints stays.",
            breaks=(f"Writers fail on rows for which {self.expression} is not true.",),
        )

    def edited(self, metadata: Json) -> Json:
        name = f"{CONSTRAINT_PREFIX}{self.name.lower()}"
        return SetProperties(((name, self.expression),)).edited(metadata)

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"constraints": {self.name: self.expression}}


@dataclass(frozen=True)
class DropConstraint(Step):
    joins_others: ClassVar[bool] = True

    name: str

    @property
    def action(self) -> str:
        return f"drop the CHECK constraint {self.name}"

    @property
    def clause(self) -> str:
        return f"DROP CONSTRAINT {quote(self.name)}"

    def edited(self, metadata: Json) -> Json:
        return _without_properties(metadata, [f"{CONSTRAINT_PREFIX}{self.name}"])

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"constraints": {self.name: None}}


@dataclass(frozen=True)
class ClusterBy(Step):
    """Clusters data written from then on by other columns; an empty tuple ends clustering."""

    columns: tuple[Parts, ...]

    @property
    def action(self) -> str:
        return f"cluster the table by {path_texts(self.columns)}" if self.columns else "no longer cluster the table"

    @property
    def clause(self) -> str:
        return f"CLUSTER BY {f'({quoted_paths(self.columns)})' if self.columns else 'NONE'}"

    def effects(self, before: TableState) -> Effects:
        return Effects(undo="Declare the old columns, or cluster_by: []; the table feature clustering stays.")

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        return {"cluster_by": self.columns}


@dataclass(frozen=True)
class RewriteWithoutMapping(Step):
    """Lets the engine rewrite every data file without column mapping.

    :param files: number of data files
    :param size: total size of the files in bytes
    """

    files: int
    size: int

    @property
    def action(self) -> str:
        return f"rewrite {files_and_size(self.files, self.size)} without column mapping"

    @property
    def clause(self) -> str:
        return "SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')"

    @property
    def can_be_rehearsed(self) -> bool:
        return False


@dataclass(frozen=True)
class RewriteTable(Step):
    """Rewrites all data files in one transaction, with other types or another partitioning.

    :param casts: columns that get another type
    :param partition_by: partition columns after the rewrite; None if they stay the same
    :param time_zone: zone for casts between local dates or times and moments; None if no cast depends on it
    :param files: number of data files
    :param size: total size of the files in bytes
    """

    casts: tuple[Cast, ...]
    partition_by: tuple[str, ...] | None = None
    time_zone: str | None = None
    files: int = 0
    size: int = 0

    @property
    def action(self) -> str:
        return f"rewrite {files_and_size(self.files, self.size)} with {', '.join(self._changes())}"

    def _changes(self) -> Iterator[str]:
        yield from (f"{path_text(cast.parts)} {cast.old} -> {cast.new}" for cast in self.casts)
        if self.partition_by is not None:
            names = path_texts((name,) for name in self.partition_by)
            yield f"partitioned by {names}" if self.partition_by else "without partitions"
        if self.time_zone is not None:
            yield f"times in the zone {self.time_zone}"

    def sql(self, table: TableName) -> str | None:
        by = "" if self.partition_by is None else f" PARTITIONED BY ({', '.join(map(quote, self.partition_by))})"
        casts = "".join(
            f", {'try_cast' if cast.null_on_loss else 'cast'}({quoted_path(cast.parts)} AS {cast.new})"
            f" AS {quote(cast.parts[-1])}"
            for cast in self.casts
        )
        zone = "" if self.time_zone is None else f"SET TIME ZONE {literal(self.time_zone)};\n"
        return f"{zone}REPLACE TABLE {table.sql} USING delta{by} AS SELECT *{casts} FROM {table.sql}"

    @property
    def rewrites_files(self) -> bool:
        return True

    @property
    def new_types(self) -> tuple[str, ...]:
        return tuple(cast.new for cast in self.casts)

    @property
    def for_readers(self) -> Mapping[Parts, str]:
        return {cast.parts: RETYPED.format(cast.new) for cast in self.casts}

    def effects(self, before: TableState) -> Effects:
        breaks = [STREAMS_OVERWRITTEN]
        if before.metadata.properties.change_data_feed:
            breaks.append("The change data feed shows every row as deleted and inserted.")
        if before.is_active(ROW_TRACKING):
            breaks.append("Every row gets a new row id.")
        return Effects(
            metadata_only=False,
            files=self.files,
            size=self.size,
            undo=f"{RESTORE}; it works until VACUUM deletes the old files.",
            breaks=tuple(breaks),
        )

    def edited(self, metadata: Json) -> Json:
        # No record of changes is needed: all files get the new types.
        cast = edit_columns(metadata, ((column.parts, partial(_rewritten, column.new)) for column in self.casts))
        return cast if self.partition_by is None else {**cast, "partitionColumns": list(self.partition_by)}

    def planned(self, origin: Callable[[Parts], Parts]) -> Json:
        partitions = {} if self.partition_by is None else {"partition_by": self.partition_by}
        changed = tuple(retyped(cast, origin, null_on_loss=cast.null_on_loss) for cast in self.casts)
        rewritten = {"rewrites_all": True, "rewritten_files": self.files, "rewritten_size": self.size}
        return {"retyped": changed, **partitions, **rewritten}


@dataclass(frozen=True)
class InOneCommit(Step):
    """Several metadata changes in one commit."""

    steps: tuple[Step, ...]

    @property
    def action(self) -> str:
        return "; ".join(step.action for step in self.steps)

    def sql(self, table: TableName) -> str | None:
        return ";\n".join(filter(None, (step.sql(table) for step in self.steps)))

    def effects(self, before: TableState) -> Effects:
        found = [step.effects(before) for step in self.steps]
        return Effects(
            undo=" ".join(dict.fromkeys(each.undo for each in found)),
            breaks=tuple(dict.fromkeys(text for each in found for text in each.breaks)),
        )

    def edited(self, metadata: Json) -> Json:
        return reduce(lambda action, step: step.edited(action), self.steps, metadata)

    def path_before(self, path: Parts) -> Parts | None:
        return earlier_path(path, self.steps)


def each_step(planned: Iterable[Step]) -> Iterator[Step]:
    """Yield all steps, with :class:`InOneCommit` replaced by its steps."""
    for step in planned:
        if isinstance(step, InOneCommit):
            yield from step.steps
        else:
            yield step


def earlier_path(parts: Parts, steps: Sequence[Step]) -> Parts | None:
    """Return the path that a column had before ``steps``; None if one of them adds it.

    :param parts: path after the steps
    """
    path: Parts | None = parts
    for step in reversed(steps):
        path = None if path is None else step.path_before(path)
    return path


def _undone(features: Sequence[str]) -> str:
    """Return sentences on how to remove features again."""
    droppable = [name for name in features if name in REMOVALS]
    kept = [FEATURES[name] for name in features if name in FEATURES and name not in REMOVALS]
    sentences = []
    if droppable:
        sentences.append(
            f"DROP FEATURE takes {', '.join(droppable)} away, and may add checkpointProtection; RESTORE does not."
        )
    sentences += [f"{feature.name} stays: {why_not_removable(feature)}" for feature in kept]
    return " ".join(sentences) or "RESTORE does not take a table feature away."


def _without_properties(metadata: Json, names: Iterable[str]) -> Json:
    dropped = {name.lower() for name in names}
    kept = {name: value for name, value in metadata.get("configuration", {}).items() if name.lower() not in dropped}
    return {**metadata, "configuration": kept}


def _rewritten(new: str, field: Json, below: Parts) -> Json:
    """Return a field with another type, without records that describe only the old one."""
    metadata = {key: value for key, value in (field.get("metadata") or {}).items() if key != CHAR_OR_VARCHAR}
    path = ".".join(below) or None
    recorded = [change for change in metadata.pop(TYPE_CHANGES_KEY, ()) if change.get("fieldPath") != path]
    kept = {TYPE_CHANGES_KEY: recorded} if recorded else {}
    return {**cast_field(new, field, below), "metadata": {**metadata, **kept}}
