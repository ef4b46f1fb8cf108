"""What identifies the head of a table later on: its version, its table, and digests of what it says.

Small enough to be kept where sensors and triggers keep what they saw, however wide the schema is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.delta.table_head import TableHead
from airflow_delta_provider.domain.digest import short_digest

#: What :meth:`HeadMark.changed_since` says of another table at the same place.
TABLE = "table"


@dataclass(frozen=True)
class HeadMark:
    """A version that was seen.

    :param version: -1 where there was no table
    :param table_id: id of the metadata; None where it is not known
    :param digests: by subject, see ``SUBJECTS``; empty where it is not known
    """

    version: int
    table_id: str | None
    digests: Mapping[str, str]

    @classmethod
    def of(cls, head: TableHead) -> HeadMark:
        """Return the mark of a head."""
        return cls(
            head.version,
            head.metadata.id,
            {subject: short_digest(json.dumps(said(head), sort_keys=True)) for subject, said in SUBJECTS.items()},
        )

    def changed_since(self, before: HeadMark) -> list[str]:
        """Return what is other than before: ``table`` where it is another one, and subjects."""
        other = None not in (before.table_id, self.table_id) and before.table_id != self.table_id
        changed = [s for s in self.digests if s in before.digests and before.digests[s] != self.digests[s]]
        return [TABLE, *changed] if other else changed

    def to_json(self) -> dict[str, Any]:
        """Return the wire form."""
        return {"version": self.version, "table_id": self.table_id, "digests": dict(self.digests)}

    @classmethod
    def from_json(cls, wire: Any) -> HeadMark:
        """Read the wire form, whatever else is next to it.

        :raises ValueError: if it is none
        """
        try:
            version, table_id, digests = wire["version"], wire.get("table_id"), wire.get("digests") or {}
            return cls(int(version), table_id, {str(subject): str(digest) for subject, digest in digests.items()})
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"{wire!r:.200} does not say which version of a table was seen: {error!r}") from error


#: No table.
NOTHING = HeadMark(-1, None, {})


def _schema(head: TableHead) -> Any:
    text = head.metadata.schema_string
    try:
        schema = json.loads(text)
    except ValueError:
        schema = text  # which is damaged, and compared as it is
    return [schema, list(head.metadata.partition_columns)]


#: What a head says, in parts that change for reasons of their own.
SUBJECTS: Mapping[str, Callable[[TableHead], Any]] = {
    "protocol": lambda head: head.protocol.to_json(),
    "features": lambda head: sorted(head.protocol.features),
    "properties": lambda head: dict(head.metadata.configuration),
    "schema": _schema,
}
