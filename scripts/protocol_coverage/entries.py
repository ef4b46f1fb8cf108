"""What is known of each normative sentence: ``entries/*.toml``.

A table by the sentence's digest (see :mod:`scripts.protocol_coverage.sentences`), with:

- ``says``: what the sentence requires, in our words;
- ``rules``: the codes of the rules that judge it, and ``cases``: what damages it, as the name of a damage
  (``"AC08"``, ``"AC08 not there"``: :mod:`tests.unit.damages`) or of a test (``"tests/unit/….py::test_…"``);
- or ``why``: why it is not judged, in a sentence or by a word of :data:`REASONS`; of a sentence that permits
  something, also ``sound``: sound tables that do it, as the name of one (:mod:`tests.unit.audit.test_audit_permitted`)
  or of a test.

Both may stand together, where a part of the sentence can be judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomllib

from scripts.protocol_coverage.sentences import INVENTORY

ENTRIES = Path(__file__).with_name("entries")
#: Why a sentence is not judged.
REASONS: Mapping[str, str] = {
    "reader": "Binds readers: leaves no trace in a table.",
    "permits": "Permits: tables that do it are not alarmed",
    "explains": "Explains; requires nothing.",
    "catalog": "Binds the catalog, or clients towards it: leaves no trace in a table.",
    "untraced": "Binds writers, but leaves no trace in a table.",
    "example": "Is an example of another requirement.",
}


@dataclass(frozen=True)
class Entry:
    """What is known of a sentence.

    :raises ValueError: if it has neither rules with cases nor a reason
    """

    digest: str
    says: str
    rules: Sequence[str] = ()
    cases: Sequence[str] = ()
    why: str = ""
    sound: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.says or bool(self.rules) != bool(self.cases) or not (self.rules or self.why):
            raise ValueError(f"{self.digest}: an entry has 'says', and 'rules' with 'cases', or 'why'")
        if self.why == "permits" and not self.sound:
            raise ValueError(f"{self.digest}: an entry that permits something has 'sound'")


@dataclass(frozen=True)
class Place:
    """Where a sentence is."""

    digest: str
    document: str
    section: str
    anchor: str


def places() -> list[Place]:
    """Return where each normative sentence is, in order."""
    return [Place(**row) for row in json.loads(INVENTORY.read_text(encoding="utf-8"))]


def entries() -> dict[str, Entry]:
    """Return all entries by their digests.

    :raises ValueError: if a sentence has two, or one is malformed
    """
    found: dict[str, Entry] = {}
    for file in sorted(ENTRIES.glob("*.toml")):
        for digest, fields in tomllib.loads(file.read_text(encoding="utf-8")).items():
            if digest in found:
                raise ValueError(f"{digest} has two entries, one in {file.name}")
            found[digest] = Entry(digest, **fields)
    return found
