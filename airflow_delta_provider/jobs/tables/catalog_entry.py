"""Entries of a catalog: single tables, and listings of schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CatalogEntry:
    """A catalog's entry for a name.

    :param provider: format of the table, in lower case; empty for a view
    :param location: location of the table, as the catalog records it
    :param kind: type of the entry as the catalog names it, in lower case: ``managed``, ``view``, …
    """

    provider: str
    location: str | None = None
    kind: str = ""

    @property
    def noun(self) -> str:
        """Noun for messages: ``parquet table``, ``view``."""
        if self.provider:
            return f"{self.provider} table"
        return "view" if "view" in self.kind else "table"


@dataclass(frozen=True)
class SchemaListing:
    """A catalog's listing of a schema.

    :param tables: names of the schema's tables of the requested format
    :param others: number of other entries, by noun
    """

    tables: Sequence[str]
    others: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[tuple[str, CatalogEntry | None]], provider: str) -> SchemaListing:
        """Return the listing for the tables of one format. An entry of unknown format counts as such a table."""
        tables, others = [], Counter[str]()
        for name, entry in entries:
            if entry is None or entry.provider == provider:
                tables.append(name)
            else:
                others[entry.noun] += 1
        return cls(tables, dict(sorted(others.items())))

    @property
    def left_out(self) -> str:
        """The other entries in words: ``2 parquet tables, 1 view``; empty if there are none."""
        return ", ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in self.others.items())
