"""The physical paths of a mapped table over its history; none may be used twice: CM16. PROTOCOL.md, Field Path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY, PATH
from airflow_delta_provider.domain.checks.healing import Details, Healing, StillOpen
from airflow_delta_provider.domain.checks.rule import Need, Scope
from airflow_delta_provider.domain.delta.column import lowered
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema, PhysicalPath
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


def _path_is_taken(later: Transition, finding: Finding, details: Details) -> bool:
    """Return True until no column has the physical path of the details."""
    path = None if details["path"] is None else tuple(details["path"])
    if path is None or not later.commit.metadata or later.commit.version <= (finding.version or 0):
        return True
    if later.keeps_no_file:
        return False
    schema = MappedSchema.readable(later.after.metadata)
    return schema is None or (schema.is_mapped and path in schema.by_path)


_HEALING = Healing(_path_is_taken, needs_details=True)


def until_path_of_column_is_free(finding: Finding, state: TableState) -> StillOpen:
    """Return the check whether the column of a finding still has the physical path of a dropped column.

    :param state: a state whose column has that path
    """
    schema = MappedSchema.readable(state.metadata)
    if schema is None:
        return StillOpen(lambda _: True, {"path": None})
    path = next((field.path for field in schema.fields if str(field.column) == finding.column), None)
    return _HEALING.by(finding, {"path": None if path is None else list(path)})


REUSED_PATH = FAMILY.of(Scope.HISTORY).error(
    16,
    "physical path of a dropped column used again",
    effect="Dropped values come back in the new column, or the table cannot be read if the types differ.",
    remedy="Drop the column, and add it again with an engine that supports column mapping, which gives it a new "
    "physical name.",
    source=PATH,
    healing=_HEALING,
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.COLUMN_IDS),
)


@on_demand(REUSED_PATH)
class PhysicalPaths:
    """Tracks the column ids that each physical path has had, over the commits of a table, oldest first.

    Paths that differ only in case count as one: Spark ignores case when it looks for columns in data files.

    The ids are dropped when every file is replaced and when the mapping is removed: ids start again after that, and no
    file is left that contains a forgotten path.
    """

    def __init__(self) -> None:
        self._ids: dict[PhysicalPath, set[int]] = {}
        self._begun = False

    def apply_commit(self, transition: Transition) -> Iterator[Finding]:
        """Record a commit. Yield findings about columns that it adds at the path of a dropped column."""
        schemas = self._schemas(transition)
        if schemas is None:
            return
        yield from self._reused(transition, *schemas)
        if transition.keeps_no_file or not schemas[1].is_mapped:
            self._ids.clear()
        self._learn(schemas[1])

    def check(self, transition: Transition) -> Iterator[Finding]:
        """Yield the findings of :meth:`apply_commit` without recording the commit."""
        schemas = self._schemas(transition)
        if schemas is not None:
            yield from self._reused(transition, *schemas)

    @property
    def column_ids(self) -> Mapping[PhysicalPath, frozenset[int]]:
        """The ids that each path has had, including the ids of the schema that was recorded last."""
        return {path: frozenset(ids) for path, ids in self._ids.items()}

    def restore_saved(self, column_ids: Mapping[PhysicalPath, frozenset[int]]) -> None:
        """Resume from the ids that an earlier audit saved."""
        self._ids = {}
        for path, ids in column_ids.items():
            self._ids.setdefault(lowered(path), set()).update(ids)
        self._begun = False

    def _schemas(self, transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
        """Return the mappings before and after a commit; None if it changes none, or one cannot be read."""
        before, after = transition.before.metadata, transition.after.metadata
        if self._begun and before == after:
            return None
        old, new = MappedSchema.readable(before), MappedSchema.readable(after)
        if old is None or new is None:
            return None
        if not self._begun:
            self._learn(old)
            self._begun = True
        return old, new

    def _reused(self, transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
        if transition.keeps_no_file or transition.restores or not (old.is_mapped and new.is_mapped):
            return
        present = {lowered(field.path) for field in old.fields if field.path is not None}
        reported: set[PhysicalPath] = set()
        for path, field in new.by_path.items():
            known = self._ids.get(lowered(path))
            if (
                lowered(path) in present
                or known is None
                or field.id is None
                or field.id in known
                or field.id in old.ids
            ):
                continue
            if any(path[:length] in reported for length in range(1, len(path))):
                continue
            reported.add(path)
            yield REUSED_PATH.found(
                "The commit adds {column} (id {id}), which data files store at {at}, the physical path of a column "
                "that was dropped before (id {dropped}).",
                column=field.column,
                id=field.id,
                at=".".join(path),
                dropped=sorted(known),
                made_by=transition.commit.provenance,
            )

    def _learn(self, schema: MappedSchema) -> None:
        if schema.is_mapped:
            for field in schema.fields:
                if field.path is not None and field.id is not None:
                    self._ids.setdefault(lowered(field.path), set()).add(field.id)
