"""Steps as sentences, for the task log and for refusals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.delta.column import path_text

_PROOFS = {
    "history": "as the history proves safe",
    "footers": "as the footers of all live files prove safe",
    "no files": "while there is no data file",
}


def explain(step: steps.Step) -> str:
    """Return a one-line description of ``step`` with its number of commits."""
    commits = "1 commit" if step.commits == 1 else f"about {step.commits} commits"
    own = isinstance(step, (steps.TrackUsage, steps.MapColumns, steps.CreateTable))
    return f"{action_of(step)} ({commits}{', not by SQL' if own else ''})"


def action_of(step: steps.Step) -> str:
    """Return a description of ``step`` without its number of commits."""
    match step:
        case steps.SetProperties():
            properties = ", ".join(f"{name}={value}" for name, value in step.properties)
            enables = f", which enables {', '.join(step.enables)}" if step.enables else ""
            return f"set {properties}{enables}"
        case steps.UnsetProperties():
            return f"unset {', '.join(step.names)}"
        case steps.TrackUsage():
            value = f"delta.columnMapping.hasDroppedOrRenamed={step.dropped_or_renamed}"
            return f"add columnMappingUsageTracking to the protocol and set {value}"
        case steps.DropFeature():
            rewrites = f", which rewrites {counted(step.files, step.size)}" if step.files else ""
            truncates = ", and truncate the history that has traces of it" if step.truncate_history else ""
            return f"drop {step.feature}{rewrites}{truncates}"
        case steps.MapColumns():
            return "map all columns by name, each to its own name"
        case steps.DisableMapping():
            return f"disable column mapping in the metadata without rewriting data, {_PROOFS[step.rests_on]}"
        case steps.RewriteWithoutMapping():
            return f"rewrite {counted(step.files, step.size)} without column mapping"
        case steps.Alteration():
            parts = (
                f"drop {_paths(step.drops)}" if step.drops else "",
                f"rename {_renames(step.renames)}" if step.renames else "",
                f"add {_adds(step.adds)}" if step.adds else "",
            )
            return f"{', then '.join(filter(None, parts))}, in one commit by this provider"
        case steps.CreateTable():
            columns = ", ".join(f"{path_text((name,))} {data_type}" for name, data_type in step.columns)
            by = f", partitioned by {_names(step.partition_by)}" if step.partition_by else ""
            return f"create an empty table with {columns}{by}, tracked and mapped by name"
        case steps.CommentTable():
            return (
                "remove the comment of the table"
                if step.text is None
                else f"set the comment of the table to {step.text!r}"
            )
        case steps.AddConstraint():
            return f"add the CHECK constraint {step.name} ({step.expression}), after all rows were checked"
        case steps.DropConstraint():
            return f"drop the CHECK constraint {step.name}"
        case steps.ClusterBy():
            return f"cluster the table by {_paths(step.columns)}" if step.columns else "no longer cluster the table"
        case steps.RewriteTable():
            return f"rewrite {counted(step.files, step.size)} with {', '.join(_rewritten(step))}"
        case steps.InOneCommit():
            return "; ".join(map(action_of, step.steps))
        case _:
            return _on_columns(step)


def _on_columns(step: steps.Step) -> str:
    match step:
        case steps.AddColumns():
            return f"add {_adds(step.columns)}"
        case steps.DropColumns():
            return f"drop {_paths(step.columns)}"
        case steps.RenameColumn():
            return f"rename {_renames((step.column,))}"
        case steps.RenameColumns():
            return f"rename {_renames(step.columns)}"
        case steps.WidenColumns():
            columns = ", ".join(f"{path_text(column.parts)} {column.old} -> {column.new}" for column in step.columns)
            return f"widen {columns}"
        case steps.OrderFields():
            where = f" of {path_text(step.parent)}" if step.parent else ""
            return f"put the columns{where} in the order {_names(step.names)}"
        case steps.AllowNulls():
            return f"allow NULL in {_paths(step.columns)}"
        case steps.ForbidNulls():
            return f"forbid NULL in {_paths(step.columns)}, after all rows were checked"
        case steps.CommentColumns():
            return f"set the comment of {_texts(step.columns)}"
        case steps.SetDefaults():
            return f"set the default of {_texts(step.columns)}"
        case _:
            raise TypeError(f"no explanation for {step!r}")


def _rewritten(step: steps.RewriteTable) -> Iterator[str]:
    yield from (f"{path_text(cast.parts)} {cast.old} -> {cast.new}" for cast in step.casts)
    if step.partition_by is not None:
        yield f"partitioned by {_names(step.partition_by)}" if step.partition_by else "without partitions"
    if step.time_zone is not None:
        yield f"times in the zone {step.time_zone}"


def _names(names: Iterable[str]) -> str:
    return _paths((name,) for name in names)


def _paths(columns: Iterable[steps.Parts]) -> str:
    return ", ".join(map(path_text, columns))


def _renames(columns: Iterable[steps.ColumnName]) -> str:
    return ", ".join(f"{path_text(column.parts)} to {path_text((column.new,))}" for column in columns)


def _adds(columns: Iterable[steps.NewColumn]) -> str:
    return ", ".join(f"{path_text(column.parts)} {column.type}" for column in columns)


def _texts(columns: Iterable[steps.ColumnText]) -> str:
    return ", ".join(f"{path_text(c.parts)} to {'nothing' if c.text is None else repr(c.text)}" for c in columns)


def size_text(size: int) -> str:
    """Return a number of bytes in a readable unit."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"


def counted(files: int, size: int) -> str:
    """Return the number of data files and their total size, as a phrase."""
    return f"{files_text(files)} ({size_text(size)})"


def files_text(files: int) -> str:
    """Return the number of data files, as a phrase."""
    return "1 data file" if files == 1 else f"{files:,} data files"
