"""What a commit must not do to the metadata: MD03, MD04, MD08, MD10 to MD12, MD15 and MD16."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.metadata import rules
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.column_mapping import physical_name
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

_IDENTITY = "delta.identity"


def check_first(commit: Commit) -> Iterator[Finding]:
    """Yield what the metaData actions of version 0 do wrong."""
    if not commit.metadata:
        yield rules.FIRST_WITHOUT_METADATA.finding(
            f"Version {commit.version}, the first one, has no metaData action: nobody can tell which columns the "
            "table has, and engines refuse to open it. Restore the file from a backup or another replica of the log.",
            **commit.provenance,
        )
    yield from _several(commit)


@on_change()
def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit's metaData action did wrong.

    Of several ones each reader may take another, so that MD03 is then all there is to say.
    """
    found = list(_several(transition.commit))
    yield from found
    if found or not transition.commit.metadata or (transition.restores and transition.past.had_identity):
        return
    for rule in _TRANSITION_RULES:
        yield from rule(transition)


def _several(commit: Commit) -> Iterator[Finding]:
    if len(commit.metadata) > 1:
        same = len({(m.id, m.schema_string) for m in commit.metadata}) == 1
        yield rules.SEVERAL_METADATA.finding(
            f"The commit of version {commit.version} holds {len(commit.metadata)} metaData actions where one is "
            f"allowed{'' if same else ', and they differ'}: which one counts is up to the reader, so engines may see "
            "different schemas. Set a table property with an up-to-date engine, which writes the metadata as it is "
            "meant to be, and update the engine that wrote this commit.",
            **commit.provenance,
        )


def _id_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata.id, transition.after.metadata.id
    if not before or not after or before == after:
        return
    if transition.replaces_all:
        finding = rules.ID_CHANGED.finding(
            f"The commit replaced the whole table and changed its id from {before} to {after}, though an id is for "
            "the table's life. Streams and caches that know the table by its id stop or start over. That is how "
            "engines replace tables; INSERT OVERWRITE keeps the id.",
            **transition.commit.provenance,
        )
        yield replace(finding, severity=Severity.WARNING)
    elif _is_made_anew(transition):
        finding = rules.ID_CHANGED.finding(
            f"The commit made the metadata anew, with another id ({before} became {after}) and time of creation, and "
            "kept the table's files. An id never changes: streams refuse to go on, and caches and shares take it for "
            "another table. A MERGE of delta-rs 1.6 that adds columns does so: add the columns first.",
            **transition.commit.provenance,
        )
        yield replace(finding, severity=Severity.WARNING)
    else:
        yield rules.ID_CHANGED.finding(
            f"The commit changed the table's id from {before} to {after} and kept its files. An id never changes: "
            "streams refuse to go on, and caches and shares take it for another table. RESTORE the table to the "
            "version before, and look at what wrote this commit.",
            **transition.commit.provenance,
        )


def _is_made_anew(transition: Transition) -> bool:
    before, after = transition.before.metadata.created_time, transition.after.metadata.created_time
    return before is not None and after is not None and before < after


def _created_time_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if before.id != after.id or transition.replaces_all or None in (before.created_time, after.created_time):
        return
    if before.created_time != after.created_time:
        yield rules.CREATED_TIME_CHANGED.finding(
            f"The commit changed createdTime from {before.created_time} to {after.created_time}, though the table is "
            "the same. Readers do not mind; what asks for the table's age gets a wrong answer.",
            **transition.commit.provenance,
        )


def _partitioning_changed(transition: Transition) -> Iterator[Finding]:
    if transition.replaces_all:
        return
    before, after = _partitioning(transition.before.metadata), _partitioning(transition.after.metadata)
    if before is None or after is None:
        return
    # A column that is renamed keeps its physical name, and files know only that one.
    if before.keys() != after.keys() and set(before.values()) != set(after.values()):
        yield rules.PARTITIONING_CHANGED.finding(
            f"The commit changed the partition columns from {_listed(before)} to {_listed(after)}, but kept files that "
            "are partitioned the old way: their values of these columns read as NULL, or the files are skipped or "
            "refused. RESTORE the table to the version before; to change partitions, rewrite the whole table.",
            **transition.commit.provenance,
        )


def _nothing_changed(transition: Transition) -> Iterator[Finding]:
    before, after = transition.before.metadata, transition.after.metadata
    if transition.commit.protocols or before != after or before.created_time != after.created_time:
        return  # with a protocol action it is a way to upgrade, or to RESTORE
    yield rules.NOTHING_CHANGED.finding(
        "The commit's metaData action is the same as before. Readers do not mind, but every writer that works on the "
        "table meanwhile fails, since the metadata seems to have changed. Leave such commits out.",
        **transition.commit.provenance,
    )


def _identity_set_back(transition: Transition) -> Iterator[Finding]:
    if transition.replaces_all:
        return
    before, after = (_identity_marks(state.metadata) for state in (transition.before, transition.after))
    for column, (step, mark) in before.items():
        step_now, now = after.get(column, (0, None))
        if step_now == step and mark is not None and (now is None or (now - mark) * step < 0):
            to = "its start" if now is None else now
            yield rules.IDENTITY_SET_BACK.finding(
                f"The commit sets the identity column {column} back from {mark} to {to}: the next rows get "
                "values that other rows have. Raise the mark again: ALTER TABLE … ALTER COLUMN "
                f"{column} SYNC IDENTITY.",
                column=column,
                **transition.commit.provenance,
            )


def _column_lost(transition: Transition) -> Iterator[Finding]:
    states = (transition.before, transition.after)
    if transition.replaces_all or any(state.metadata.properties.is_mapped for state in states):
        return
    before, after = (state.metadata.readable_columns for state in states)
    if before is None or after is None:
        return
    left = {lowered(column.parts) for column in after}
    left |= {(str(name).lower(),) for name in transition.before.metadata.partition_columns}  # which are in no file
    gone = [column for column in before if column.kinds[-1] == "field" and lowered(column.parts) not in left]
    if gone:
        more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
        yield rules.COLUMN_LOST.finding(
            f"The commit takes {gone[0]}{more} out of the schema, but keeps the files, and there is no column mapping: "
            "its values can no longer be read, and come back under the next column of its name, or make it unreadable. "
            "RESTORE the table to the version before; to drop a column, enable column mapping first.",
            column=str(gone[0]),
            **transition.commit.provenance,
        )


_TRANSITION_RULES: tuple[Callable[[Transition], Iterator[Finding]], ...] = (
    _id_changed,
    _created_time_changed,
    _partitioning_changed,
    _nothing_changed,
    _identity_set_back,
    _column_lost,
)


def _partitioning(metadata: Metadata) -> dict[str, str] | None:
    """Return the names in files of the partition columns by their names, or None where they are not known."""
    columns = metadata.readable_columns
    if columns is None:
        return None
    mode = metadata.properties.mapping_mode
    physical = {c.parts[0].lower(): physical_name(c.field, mode) for c in columns if len(c.parts) == 1}
    names = [str(name).lower() for name in metadata.partition_columns]
    if not all(name in physical for name in names):
        return None  # MD05 says so
    return {name: physical[name].lower() for name in names}


def _listed(names: Mapping[str, str]) -> str:
    return ", ".join(names) or "none"


def _identity_marks(metadata: Metadata) -> dict[str, tuple[int, int | None]]:
    """Return step and highest value of the identity columns; a value is None where none was generated yet."""
    if _IDENTITY not in metadata.schema_string:
        return {}
    found = {}
    for column in metadata.readable_columns or ():
        step, mark = (column.field.metadata.get(f"{_IDENTITY}.{name}") for name in ("step", "highWaterMark"))
        if len(column.parts) == 1 and type(step) is int:
            found[str(column)] = (step, mark if type(mark) is int else None)
    return found
