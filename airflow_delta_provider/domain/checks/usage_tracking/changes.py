"""Effects of a commit on the usage tracking of a table: UT04 to UT07."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.check import on_change
from airflow_delta_provider.domain.checks.rule import Need, Scope, causes
from airflow_delta_provider.domain.checks.usage_tracking.family import FAMILY, SET_TRUE
from airflow_delta_provider.domain.checks.usage_tracking.state import is_unique
from airflow_delta_provider.domain.delta.column_changes import column_changes
from airflow_delta_provider.domain.delta.features.column_mapping import USAGE_TRACKING
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_RESURRECTED = (
    "The next column with the name of a dropped one may get its values back, or the table can no longer be read."
)
_pair = FAMILY.of(Scope.PAIR, remedy=SET_TRUE, needs=(Need.STATE, Need.FILES, Need.VERSIONS))

SET_BACK = FAMILY.of(Scope.HISTORY).error(
    4,
    "usage tracking set back from true to false",
    effect=_RESURRECTED,
    remedy=SET_TRUE,
    needs=(Need.STATE, Need.FILES, Need.EVER_DROPPED),
)


@on_change(SET_BACK)
def _set_back(transition: Transition) -> Iterator[Finding]:
    if not transition.after.protocol.supports(USAGE_TRACKING) or transition.replaces_all:
        return
    # RESTORE is not an excuse: its files may have the dropped columns.
    before, after = (state.metadata.properties.dropped_or_renamed for state in (transition.before, transition.after))
    if after == "false" and before != "false" and (before == "true" or transition.past.ever_dropped):
        yield SET_BACK.found(
            "The commit sets {property} back to false, after it had been true.", property=DROPPED_OR_RENAMED
        )


TURNED_ON_AS_UNUSED = _pair.error(
    5,
    "usage tracking enabled as if nothing had been dropped",
    effect="Columns that were dropped before are not taken into account. " + _RESURRECTED,
)


@on_change(TURNED_ON_AS_UNUSED)
def _turned_on(transition: Transition) -> Iterator[Finding]:
    if _mapped_schemas(transition) is None or transition.before.protocol.supports(USAGE_TRACKING):
        return
    if transition.after.metadata.properties.dropped_or_renamed == "false":
        yield TURNED_ON_AS_UNUSED.found(
            "The commit enables {feature} with {property}=false, though the table was mapped before: columns may have "
            "been dropped or renamed without being tracked.",
            feature=USAGE_TRACKING.name,
            property=DROPPED_OR_RENAMED,
        )


NOT_TRACKED = _pair.error(
    6, "column dropped or renamed without being tracked", effect=_RESURRECTED, follows_from=causes("UT01", later=True)
)


@on_change(NOT_TRACKED)
def _not_tracked(transition: Transition) -> Iterator[Finding]:
    properties = transition.after.metadata.properties
    schemas = _mapped_schemas(transition)
    if schemas is None or properties.has_dropped_or_renamed:
        return
    before, after = schemas
    if not (after.is_mapped and transition.before.protocol.supports(USAGE_TRACKING)):
        return
    for change in column_changes(before, after):
        yield NOT_TRACKED.found(
            "The commit "
            + ("drops {column}" if change.now is None else "renames {column} to {now}")
            + (
                ", but {property} is missing after it."
                if properties.dropped_or_renamed is None
                else ", but {property} is {value} after it."
            ),
            column=change.was.column,
            now=None if change.now is None else str(change.now.column),
            property=DROPPED_OR_RENAMED,
            value=properties.dropped_or_renamed,
        )
        return


NAME_NOT_UNIQUE = _pair.error(
    7,
    "new column without a unique physical name",
    effect="Data files may have a dropped column under that name. Its values are then read as values of the new "
    "column.",
    remedy="Drop the column, and add it with an engine that supports usage tracking.",
)


@on_change(NAME_NOT_UNIQUE)
def _not_unique(transition: Transition) -> Iterator[Finding]:
    schemas = _mapped_schemas(transition)
    if schemas is None or not transition.after.metadata.properties.has_dropped_or_renamed:
        return
    before, after = schemas
    if not after.is_mapped:
        return
    for number, field in after.by_id.items():
        if number in before.ids or field.path in before.by_path or field.name is None or is_unique(field.name):
            continue
        yield NAME_NOT_UNIQUE.found(
            "The commit adds {column} under the physical name {name!r}, though {property} is true.",
            column=field.column,
            name=field.name,
            property=DROPPED_OR_RENAMED,
        )


def _mapped_schemas(transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
    """Return the schemas before and after a commit, if the rules of this module apply to it.

    None if the table is not tracked after it, was not mapped before it, was replaced, or was restored.
    """
    if not transition.after.protocol.supports(USAGE_TRACKING) or transition.replaces_all or transition.restores:
        return None
    before, after = (MappedSchema.readable(state.metadata) for state in (transition.before, transition.after))
    return None if before is None or after is None or not before.is_mapped else (before, after)
