"""What a catalog knows of tables: of one, and of all in a schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class CatalogEntry:
    """What a catalog has under a name.

    :param provider: format of the table, in lower case; empty for a view
    :param location: where the table is, as the catalog says it
    :param kind: what the catalog says that it is, in lower case: ``managed``, ``view``, …
    """

    provider: str
    location: str | None = None
    kind: str = ""

    @property
    def noun(self) -> str:
        """What to call it: ``parquet table``, ``view``."""
        if self.provider:
            return f"{self.provider} table"
        return "view" if "view" in self.kind else "table"


@dataclass(frozen=True)
class SchemaListing:
    """What a catalog lists in a schema.

    :param tables: names of the tables of the wanted format, in it
    :param others: how many others there are, by what they are
    """

    tables: Sequence[str]
    others: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, entries: Iterable[tuple[str, CatalogEntry | None]], provider: str) -> SchemaListing:
        """Return what is listed, with the tables of one format; what is not known to be another counts as one, too."""
        tables, others = [], Counter[str]()
        for name, entry in entries:
            if entry is None or entry.provider == provider:
                tables.append(name)
            else:
                others[entry.noun] += 1
        return cls(tables, dict(sorted(others.items())))

    @property
    def left_out(self) -> str:
        """The others in words: ``2 parquet tables, 1 view``; empty where there are none."""
        return ", ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for noun, count in self.others.items())
