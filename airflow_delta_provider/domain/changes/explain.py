"""Steps as sentences, for the task log and for refusals."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.delta.column import path_text


@singledispatch
def explain(step: steps.Step) -> str:
    """Return a one-line description of ``step``."""
    raise TypeError(f"no explanation for {step!r}")


def action_of(step: steps.Step) -> str:
    """Return what ``step`` does, without the number of its commits."""
    return explain(step).rpartition(" (")[0]


@explain.register
def _(step: steps.SetProperties) -> str:
    properties = ", ".join(f"{name}={value}" for name, value in step.properties)
    enables = f", which enables {', '.join(step.enables)}" if step.enables else ""
    return f"set {properties}{enables} ({_commits(step.commits)})"


@explain.register
def _(step: steps.WidenColumns) -> str:
    columns = ", ".join(f"{path_text(column.parts)} {column.old} -> {column.new}" for column in step.columns)
    return f"widen {columns} ({_commits(step.commits)})"


_PROOFS = {
    "history": "as the history proves safe",
    "footers": "as the footers of all live files prove safe",
    "no files": "while there is no data file",
}


@explain.register
def _(step: steps.DisableMapping) -> str:
    proof = _PROOFS[step.rests_on]
    return f"disable column mapping in the metadata without rewriting data, {proof} ({_commits(step.commits)})"


@explain.register
def _(step: steps.RewriteWithoutMapping) -> str:
    return f"rewrite {counted(step.files, step.size)} without column mapping ({_commits(step.commits)})"


def size_text(size: int) -> str:
    """Return a number of bytes in a readable unit."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


@explain.register
def _(step: steps.TrackUsage) -> str:
    value = f"delta.columnMapping.hasDroppedOrRenamed={step.dropped_or_renamed}"
    return f"add columnMappingUsageTracking to the protocol and set {value} ({_commits(step.commits)}, not by SQL)"


@explain.register
def _(step: steps.MapColumns) -> str:
    return f"map all columns by name, each to its own name ({_commits(step.commits)}, not by SQL)"


@explain.register
def _(step: steps.CreateTable) -> str:
    columns = ", ".join(f"{path_text((name,))} {data_type}" for name, data_type in step.columns)
    by = f", partitioned by {', '.join(path_text((name,)) for name in step.partition_by)}" if step.partition_by else ""
    how = f"{_commits(step.commits)}, not by SQL"
    return f"create an empty table with {columns}{by}, tracked and mapped by name ({how})"


@explain.register
def _(step: steps.DropColumns) -> str:
    return f"drop {', '.join(map(path_text, step.columns))} ({_commits(step.commits)})"


@explain.register
def _(step: steps.RenameColumn) -> str:
    return f"rename {_renames((step.column,))} ({_commits(step.commits)})"


@explain.register
def _(step: steps.AddColumns) -> str:
    return f"add {_adds(step.columns)} ({_commits(step.commits)})"


@explain.register
def _(step: steps.Alteration) -> str:
    parts = (
        f"drop {', '.join(map(path_text, step.drops))}" if step.drops else "",
        f"rename {_renames(step.renames)}" if step.renames else "",
        f"add {_adds(step.adds)}" if step.adds else "",
    )
    return f"{', then '.join(filter(None, parts))}, in one commit by this provider ({_commits(step.commits)})"


def _renames(columns: Iterable[steps.ColumnName]) -> str:
    return ", ".join(f"{path_text(column.parts)} to {path_text((column.new,))}" for column in columns)


def _adds(columns: Iterable[steps.NewColumn]) -> str:
    return ", ".join(f"{path_text(column.parts)} {column.type}" for column in columns)


@explain.register
def _(step: steps.DropFeature) -> str:
    rewrites = f", which rewrites {counted(step.files, step.size)}" if step.files else ""
    truncates = ", and truncate the history that has traces of it" if step.truncate_history else ""
    return f"drop {step.feature}{rewrites}{truncates} ({_commits(step.commits)})"


@explain.register
def _(step: steps.UnsetProperties) -> str:
    return f"unset {', '.join(step.names)} ({_commits(step.commits)})"


@explain.register
def _(step: steps.RenameColumns) -> str:
    return f"rename {_renames(step.columns)} ({_commits(step.commits)})"


@explain.register
def _(step: steps.OrderFields) -> str:
    where = f" of {path_text(step.parent)}" if step.parent else ""
    names = ", ".join(path_text((name,)) for name in step.names)
    return f"put the columns{where} in the order {names} ({_commits(step.commits)})"


@explain.register
def _(step: steps.AllowNulls) -> str:
    return f"allow NULL in {', '.join(map(path_text, step.columns))} ({_commits(step.commits)})"


@explain.register
def _(step: steps.ForbidNulls) -> str:
    columns = ", ".join(map(path_text, step.columns))
    return f"forbid NULL in {columns}, after all rows were checked ({_commits(step.commits)})"


@explain.register
def _(step: steps.CommentColumns) -> str:
    return f"set the comment of {_texts(step.columns)} ({_commits(step.commits)})"


@explain.register
def _(step: steps.SetDefaults) -> str:
    return f"set the default of {_texts(step.columns)} ({_commits(step.commits)})"


@explain.register
def _(step: steps.CommentTable) -> str:
    if step.text is None:
        return f"remove the comment of the table ({_commits(step.commits)})"
    return f"set the comment of the table to {step.text!r} ({_commits(step.commits)})"


@explain.register
def _(step: steps.AddConstraint) -> str:
    return (
        f"add the CHECK constraint {step.name} ({step.expression}), after all rows were checked "
        f"({_commits(step.commits)})"
    )


@explain.register
def _(step: steps.DropConstraint) -> str:
    return f"drop the CHECK constraint {step.name} ({_commits(step.commits)})"


@explain.register
def _(step: steps.ClusterBy) -> str:
    if not step.columns:
        return f"no longer cluster the table ({_commits(step.commits)})"
    return f"cluster the table by {', '.join(map(path_text, step.columns))} ({_commits(step.commits)})"


@explain.register
def _(step: steps.RewriteTable) -> str:
    casts = [f"{path_text(cast.parts)} {cast.old} -> {cast.new}" for cast in step.casts]
    if step.partition_by is not None:
        by = ", ".join(path_text((name,)) for name in step.partition_by)
        casts.append(f"partitioned by {by}" if by else "without partitions")
    if step.time_zone is not None:
        casts.append(f"times in the zone {step.time_zone}")
    return f"rewrite {counted(step.files, step.size)} with {', '.join(casts)} ({_commits(step.commits)})"


@explain.register
def _(step: steps.InOneCommit) -> str:
    parts = [action_of(each) for each in step.steps]
    return f"{'; '.join(parts)} ({_commits(step.commits)})"


def _texts(columns: Iterable[steps.ColumnText]) -> str:
    return ", ".join(f"{path_text(c.parts)} to {'nothing' if c.text is None else repr(c.text)}" for c in columns)


def counted(files: int, size: int) -> str:
    """Return the number of data files and their total size, as text."""
    return f"{files_text(files)} ({size_text(size)})"


def files_text(files: int) -> str:
    """Return the number of data files, as text."""
    return "1 data file" if files == 1 else f"{files:,} data files"


def _commits(number: int) -> str:
    return "1 commit" if number == 1 else f"about {number} commits"
