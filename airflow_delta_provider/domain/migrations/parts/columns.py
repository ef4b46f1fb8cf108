"""Changes of columns that touch no data."""

from __future__ import annotations

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.alter_columns.restrictions import check_alteration
from airflow_delta_provider.domain.changes.step import Alteration
from airflow_delta_provider.domain.changes.widen_types import (
    Widening,
    check_widening,
    engine_too_old,
)
from airflow_delta_provider.domain.delta.column import all_columns, lowered
from airflow_delta_provider.domain.delta.data_type import (
    parse_type,
)
from airflow_delta_provider.domain.migrations.difference.table import (
    new_comment,
    old_constraints,
)
from airflow_delta_provider.domain.migrations.draft import Draft

_REWRITE_INSTEAD = "Or set rewrite: true on the column, if its data may be rewritten."


def change_columns(draft: Draft) -> None:
    """Additions before renames before what goes by the new names; in another order where names have to be free."""
    changes = draft.columns
    draft.take(*old_constraints(draft.state.metadata, draft.spec))
    if changes.drops_first:
        _drop(draft, tuple(place.old for place in changes.drops))
    added = tuple(add.column(renamed=changes.renames_first or changes.drops_first) for add in changes.adds)
    adds = steps.AddColumns(added) if added else None
    renames = steps.RenameColumns(tuple(changes.renames)) if changes.renames else None
    alteration = Alteration(renames=tuple(changes.renames))
    draft.refusals += check_alteration(alteration, draft.state)
    in_order = (renames, adds) if changes.renames_first or changes.drops_first else (adds, renames)
    for step in in_order:
        if isinstance(step, steps.AddColumns):
            draft.refusals += check_alteration(Alteration(adds=step.columns), draft.state)
        if step is not None and not draft.refusals:
            draft.take(step)
    if draft.refusals:
        return
    _widen(draft)
    for parent, members in changes.orders:
        names = tuple(name for name, goes in members if not (goes and changes.drops_first))
        draft.take(steps.OrderFields(parent, names))
    if changes.nullable:
        draft.take(steps.AllowNulls(tuple(changes.nullable)))
    if changes.comments:
        draft.take(steps.CommentColumns(tuple(changes.comments)))
    if changes.defaults:
        draft.take(steps.SetDefaults(tuple(changes.defaults)))
    if comment := new_comment(draft.state.metadata, draft.spec):
        draft.take(comment)


def _widen(draft: Draft) -> None:
    widenings = _widenings(draft)
    draft.refusals += [refusal for w in widenings for refusal in check_widening(w, draft.state)]
    if widenings and not draft.engine.widens_types:
        draft.refusals.append(engine_too_old(draft.engine, _REWRITE_INSTEAD))
    if widenings and not draft.refusals:
        draft.take(steps.WidenColumns(tuple(draft.columns.widenings)))


def _widenings(draft: Draft) -> list[Widening]:
    """Return the columns to be widened, as they are now."""
    names = {lowered(w.parts): w for w in draft.columns.widenings}
    present = {lowered(column.parts): column for column in all_columns(draft.state.metadata.schema)}
    return [Widening(present[path], parse_type(w.new)) for path, w in names.items() if path in present]


def drop_columns(draft: Draft) -> None:
    """Columns that go, unless they went first: last of all, when everything else has succeeded."""
    if not draft.columns.drops_first:
        _drop(draft, tuple(place.new for place in draft.columns.drops))


def _drop(draft: Draft, columns: tuple[steps.Parts, ...]) -> None:
    if not columns:
        return
    refusals = check_alteration(Alteration(drops=columns), draft.state)
    draft.refusals += refusals
    if not refusals:
        draft.take(steps.DropColumns(columns))
