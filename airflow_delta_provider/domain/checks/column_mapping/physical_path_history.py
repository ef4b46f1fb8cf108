"""The physical paths of a mapped table over its history: none is used twice. CM16. PROTOCOL.md, Field Path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airflow_delta_provider.domain.checks.column_mapping import rules
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.delta.mapped_schema import MappedSchema, PhysicalPath
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


class PhysicalPathHistory:
    """Takes the commits of a table, oldest first, and knows which column ids each physical path has had.

    It forgets them where every file is replaced, and where the mapping is removed: ids begin anew
    after that, and no file is left that a forgotten path could lead into.
    """

    def __init__(self) -> None:
        self._ids: dict[PhysicalPath, set[int]] = {}
        self._begun = False

    def take(self, transition: Transition) -> Iterator[Finding]:
        """Yield the columns that a commit adds where a dropped one lies in the data files."""
        schemas = self._schemas(transition)
        if schemas is None:
            return
        yield from self._reused(transition, *schemas)
        if transition.replaces_all or not schemas[1].is_mapped:
            self._ids.clear()
        self._learn(schemas[1])

    def look(self, transition: Transition) -> Iterator[Finding]:
        """Yield what :meth:`take` would, and take nothing."""
        schemas = self._schemas(transition)
        if schemas is not None:
            yield from self._reused(transition, *schemas)

    @property
    def column_ids(self) -> Mapping[PhysicalPath, frozenset[int]]:
        """The ids that each path has had; of a version that changed no metadata since, its schema has them, too."""
        return {path: frozenset(ids) for path, ids in self._ids.items()}

    def recall(self, column_ids: Mapping[PhysicalPath, frozenset[int]]) -> None:
        """Go on from what an earlier history knew."""
        self._ids = {path: set(ids) for path, ids in column_ids.items()}
        self._begun = False

    def _schemas(self, transition: Transition) -> tuple[MappedSchema, MappedSchema] | None:
        """Return the mappings before and after a commit; None where it changes none, or one cannot be read."""
        before, after = transition.before.metadata, transition.after.metadata
        if self._begun and before == after:
            return None
        try:
            old, new = MappedSchema.of(before), MappedSchema.of(after)
        except BrokenLogError:
            return None
        if not self._begun:
            self._learn(old)
            self._begun = True
        return old, new

    def _reused(self, transition: Transition, old: MappedSchema, new: MappedSchema) -> Iterator[Finding]:
        if transition.replaces_all or transition.restores or not (old.is_mapped and new.is_mapped):
            return
        present = {field.path for field in old.fields}
        reported: set[PhysicalPath] = set()
        for path, field in new.by_path.items():
            known = self._ids.get(path)
            if path in present or known is None or field.id is None or field.id in known or field.id in old.ids:
                continue
            if any(path[:length] in reported for length in range(1, len(path))):
                continue
            reported.add(path)
            yield rules.REUSED_PATH.finding(
                f"The commit adds {field.column} (id {field.id}) at {'.'.join(path)} in data files, where a column "
                f"that was dropped before lies (id {', '.join(map(str, sorted(known)))}): its values come back in the "
                "new column, or the table cannot be read where the types differ. Drop it, and let an engine with "
                "column mapping add it under a physical name of its own.",
                column=str(field.column),
                **transition.commit.provenance,
            )

    def _learn(self, schema: MappedSchema) -> None:
        if schema.is_mapped:
            for field in schema.fields:
                if field.path is not None and field.id is not None:
                    self._ids.setdefault(field.path, set()).add(field.id)
