"""What has to hold of the usage tracking of column mapping: UT01 to UT08. RFC, delta-io/delta#2682.

Silent where the table has not the feature, but for UT02. That the mapping can be taken away is not for
the property alone to say: see the rules of physical paths for what it would take.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from airflow_delta_provider.domain.checks.check import on_change, on_state
from airflow_delta_provider.domain.checks.usage_tracking import rules
from airflow_delta_provider.domain.delta.column_changes import column_changes
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.protocol import WRITER_FEATURES_VERSION
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SET_TRUE = f"Set {DROPPED_OR_RENAMED} to true"


@on_state()
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield what is wrong with usage tracking in ``state``: UT01 to UT03, and UT08."""
    value = state.metadata.properties.dropped_or_renamed
    if not is_supported(state):
        if value is not None:
            yield rules.PROPERTY_WITHOUT_FEATURE.finding(
                f"{DROPPED_OR_RENAMED} is {value!r}, but the protocol ({state.protocol}) does not list "
                f"{USAGE_TRACKING}: writers drop and rename columns without setting it, so that it says nothing. Unset "
                "the property.",
                version=state.version,
            )
        return
    yield from _not_writers_only(state)
    if value not in ("true", "false"):
        what = "is missing" if value is None else f"is {value!r}, neither true nor false"
        yield rules.NO_PROPERTY.finding(
            f"The protocol lists {USAGE_TRACKING}, but {DROPPED_OR_RENAMED} {what}: nobody can tell whether a column "
            f"was ever dropped or renamed, and the next one that is added may get a dropped one's values. {_SET_TRUE}.",
            version=state.version,
        )
    elif value == "false":
        yield from _other_names(state)


def _not_writers_only(state: TableState) -> Iterator[Finding]:
    protocol = state.protocol
    for_readers = USAGE_TRACKING.name in (protocol.reader_features or ())
    if for_readers or protocol.min_writer_version != WRITER_FEATURES_VERSION:
        where = "readerFeatures" if for_readers else f"a protocol with writer version {protocol.min_writer_version}"
        yield rules.NOT_WRITERS_ONLY.finding(
            f"{USAGE_TRACKING} is listed in {where}: it belongs into writerFeatures, with writer version 7, and "
            "nowhere else. Write a protocol action that has it there.",
            version=state.version,
        )


def _other_names(state: TableState) -> Iterator[Finding]:
    schema = _schema(state.metadata)
    if schema is None or not schema.is_mapped:
        return
    # A name with a UUID is one that a column was given when it was added: no trace of a rename.
    other = [
        field
        for field in schema.fields
        if field.name not in (None, field.column.field.name) and not _UUID.search(field.name or "")
    ]
    if other:
        first, more = other[0], f" (and {len(other) - 1} more)" if len(other) > 1 else ""
        yield rules.OTHER_NAMES.finding(
            f"{DROPPED_OR_RENAMED} is false, but {first.column}{more} lies under the physical name {first.name!r} in "
            "data files: either it was renamed untracked, or it was called so from the beginning. "
            f"{_SET_TRUE}, unless the second is known.",
            version=state.version,
            column=str(first.column),
        )


@on_change()
def check_transition(transition: Transition) -> Iterator[Finding]:
    """Yield what a commit did wrong to usage tracking: UT04 to UT07."""
    if not is_supported(transition.after) or transition.replaces_all:
        return
    yield from _set_back(transition)  # RESTORE is no excuse: its files may have the dropped columns
    if transition.restores:
        return
    before, after = _schema(transition.before.metadata), _schema(transition.after.metadata)
    if before is None or after is None or not before.is_mapped:
        return
    for rule in _MAPPED_RULES:
        yield from rule(transition, before, after)


def is_true(state: TableState) -> bool:
    """Whether ``state`` says that columns were dropped or renamed."""
    return state.metadata.properties.dropped_or_renamed == "true"


def _set_back(transition: Transition) -> Iterator[Finding]:
    before, after = (state.metadata.properties.dropped_or_renamed for state in (transition.before, transition.after))
    if after == "false" and before != "false" and (before == "true" or transition.past.ever_dropped):
        yield rules.SET_BACK.finding(
            f"The commit sets {DROPPED_OR_RENAMED} back to false, after it had been true: columns that were dropped "
            f"are not known of any more, and their values come back in new ones of their names. {_SET_TRUE}.",
            **transition.commit.provenance,
        )


def _turned_on(transition: Transition, before: MappedSchema, after: MappedSchema) -> Iterator[Finding]:
    del before, after
    if not is_supported(transition.before) and transition.after.metadata.properties.dropped_or_renamed == "false":
        yield rules.TURNED_ON_AS_UNUSED.finding(
            f"The commit turns {USAGE_TRACKING} on with {DROPPED_OR_RENAMED} false, though the table was mapped "
            f"before: columns may have been dropped or renamed while nobody kept track. {_SET_TRUE}.",
            **transition.commit.provenance,
        )


def _not_tracked(transition: Transition, before: MappedSchema, after: MappedSchema) -> Iterator[Finding]:
    if not (after.is_mapped and is_supported(transition.before)) or is_true(transition.after):
        return
    for change in column_changes(before, after):
        yield rules.NOT_TRACKED.finding(
            f"The commit {change.text}, but {DROPPED_OR_RENAMED} is "
            f"{transition.after.metadata.properties.dropped_or_renamed} after it: the next column of that name gets "
            f"the physical name that the old one has in data files, and its values. {_SET_TRUE}.",
            column=str(change.was.column),
            **transition.commit.provenance,
        )
        return


def _not_unique(transition: Transition, before: MappedSchema, after: MappedSchema) -> Iterator[Finding]:
    if not after.is_mapped or not is_true(transition.after):
        return
    for number, field in after.by_id.items():
        if number in before.ids or field.path in before.by_path or field.name is None or _UUID.search(field.name):
            continue
        yield rules.NAME_NOT_UNIQUE.finding(
            f"The commit adds {field.column} under the physical name {field.name!r}, though {DROPPED_OR_RENAMED} is "
            "true: a column that was dropped may lie under that name in data files, so that its values are read as the "
            "new one's. Drop the column, and let an engine with usage tracking add it.",
            column=str(field.column),
            **transition.commit.provenance,
        )


_MAPPED_RULES: tuple[Callable[[Transition, MappedSchema, MappedSchema], Iterator[Finding]], ...] = (
    _turned_on,
    _not_tracked,
    _not_unique,
)


def is_supported(state: TableState) -> bool:
    """Whether the protocol lists the feature."""
    return USAGE_TRACKING.name in state.protocol.features


def _schema(metadata: Metadata) -> MappedSchema | None:
    try:
        return MappedSchema.of(metadata)
    except BrokenLogError:
        return None
