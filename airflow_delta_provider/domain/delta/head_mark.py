"""A mark that identifies the head of a table later: version, table, and digests of the content.

It is small enough for the state of sensors and triggers, however wide the schema is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.digest import short_digest

#: Result of :meth:`HeadMark.changed_since` if another table is at the same place.
TABLE = "table"


@dataclass(frozen=True)
class HeadMark:
    """The mark of a version that was seen.

    :param version: version; -1 if there was no table
    :param table_id: id in the metadata; None if unknown
    :param digests: digests by subject, see ``SUBJECTS``; empty if unknown
    """

    version: int
    table_id: str | None
    digests: Mapping[str, str]

    @classmethod
    def of(cls, head: TableHead) -> HeadMark:
        return cls(
            head.version,
            head.metadata.id,
            {subject: short_digest(json.dumps(said(head), sort_keys=True)) for subject, said in SUBJECTS.items()},
        )

    def changed_since(self, before: HeadMark) -> list[str]:
        """Return the changed subjects, preceded by ``table`` if it is another table."""
        other = None not in (before.table_id, self.table_id) and before.table_id != self.table_id
        changed = [s for s in self.digests if s in before.digests and before.digests[s] != self.digests[s]]
        return [TABLE, *changed] if other else changed

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"version": self.version, "table_id": self.table_id, "digests": dict(self.digests)}

    @classmethod
    def from_json(cls, wire: Any) -> HeadMark:
        """Read the JSON form, which may have other keys.

        :raises ValueError: if it is not one
        """
        try:
            version, table_id, digests = wire["version"], wire.get("table_id"), wire.get("digests") or {}
            return cls(int(version), table_id, {str(subject): str(digest) for subject, digest in digests.items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{wire!r:.200} does not say which version of a table was seen: {error!r}") from error


#: Mark for a missing table.
NOTHING = HeadMark(-1, None, {})


def _schema(head: TableHead) -> Any:
    text = head.metadata.schema_string
    try:
        schema = json.loads(text)
    except ValueError:
        schema = text  # damaged, so it is compared as it is
    return [schema, list(head.metadata.partition_columns)]


#: The parts of a head that change independently.
SUBJECTS: Mapping[str, Callable[[TableHead], Any]] = {
    "protocol": lambda head: head.protocol.to_json(),
    "features": lambda head: sorted(head.protocol.features),
    "properties": lambda head: dict(head.metadata.configuration),
    "schema": _schema,
}
