"""The normative sentences of a specification in Markdown.

``python -m scripts.protocol_coverage.sentences CHECKOUT`` reads the documents at their pinned commit, and writes
``sentences.json``: of each sentence its section and its digest. So a sentence that is added or reworded has no entry
until somebody has read it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

INVENTORY = Path(__file__).with_name("sentences.json")
REPOSITORY = "https://github.com/delta-io/delta"
#: The commit whose documents were read.
COMMIT = "6737eba038fad8ab9196fec66695d32b8ae3f086"
#: The documents that are covered, by their paths in the repository.
DOCUMENTS = (
    "PROTOCOL.md",
    "protocol_rfcs/column-mapping-usage-tracking.md",
    "protocol_rfcs/accepted/catalog-managed.md",
    "protocol_rfcs/accepted/in-commit-timestamps.md",
    "protocol_rfcs/accepted/type-widening.md",
    "protocol_rfcs/accepted/vacuum-protocol-check.md",
    "protocol_rfcs/accepted/variant-shredding.md",
    "protocol_rfcs/accepted/variant-type.md",
)
_WRITTEN = "a proposal; rules for what Delta Spark writes of it are by its source"
#: The documents that are not covered, with the reason.
NOT_COVERED: Mapping[str, str] = {
    "protocol_rfcs/checkpoint-protection.md": _WRITTEN,
    "protocol_rfcs/collated-string-type.md": "a proposal",
    "protocol_rfcs/iceberg-compat-v3.md": _WRITTEN,
    "protocol_rfcs/iceberg-v4-metadata.md": "a proposal",
    "protocol_rfcs/iceberg-writer-compat-v1.md": "a proposal",
    "protocol_rfcs/interval-types.md": "a proposal",
    "protocol_rfcs/materialize-partition-columns.md": _WRITTEN,
    "protocol_rfcs/nanosecond-timestamps.md": "a proposal",
    "protocol_rfcs/rejected/managed-commits.md": "rejected",
}

_NORMATIVE = re.compile(
    r"\b(must|should|shall|never|required?s?|cannot|can not|not (be )?(allowed|permitted)|prohibit\w*|forbid\w*"
    r"|illegal|invalid|only allowed|allowed only|may only|can only|always|unique\w*|is an?|are a"
    # Permissions.
    r"|may|optionally|allowed to|permitted|acceptable|free to"
    r"|can (choose|still|also|be set|be stored|be in|be omitted|reference|contain|have))\b",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^(#+)\s+(.*)$")
#: What stands between the head of a table and its rows.
_RULER = re.compile(r"^[\s|:-]*-[\s|:-]*\|[\s|:-]*$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d+[.)])\s+")
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!vs)(?<!etc)[.!?][)\"*_`]*\s+(?=[A-Z`\[(*_\"])")


@dataclass(frozen=True)
class Sentence:
    """A sentence, or an item of a list that a normative sentence introduces.

    :param document: the path of the document in its repository
    :param section: the heading above it
    :param anchor: that heading's anchor
    :param text: the sentence, without line breaks
    """

    document: str
    section: str
    anchor: str
    text: str

    @property
    def digest(self) -> str:
        """Return what names it: eight hexadecimal digits of its text and section."""
        return hashlib.sha256(f"{self.document}\n{self.anchor}\n{self.text}".encode()).hexdigest()[:8]


@dataclass(frozen=True)
class _Block:
    """A paragraph, an item of a list, or a row of a table."""

    section: str
    anchor: str
    text: str
    #: how far an item is indented; none: no item
    indent: int | None
    row: bool = False

    @property
    def sentences(self) -> list[str]:
        """Return its sentences; a row of a table is one."""
        if self.row:
            return [self.text]
        ends = [0, *(match.end() for match in _SENTENCE_END.finditer(self.text)), len(self.text)]
        return [self.text[start:end].strip() for start, end in pairwise(ends) if self.text[start:end].strip()]


def normative_sentences(document: str, markdown: str) -> list[Sentence]:
    """Return the rows of tables, and the sentences that define, require, forbid or permit something.

    Each is there once, in order.
    """
    found: dict[str, Sentence] = {}
    introduced: list[int] = []
    for block in _blocks(markdown):
        introduced = [indent for indent in introduced if block.indent is not None and block.indent > indent]
        for text in block.sentences:
            if introduced or block.row or _NORMATIVE.search(text):
                sentence = Sentence(document, block.section, block.anchor, text)
                found.setdefault(sentence.digest, sentence)
        if block.text.rstrip("*_").endswith(":") and (introduced or _NORMATIVE.search(block.sentences[-1])):
            introduced.append(-1 if block.indent is None else block.indent)
    return list(found.values())


def _blocks(markdown: str) -> Iterator[_Block]:
    section = anchor = ""
    anchors: dict[str, int] = {}
    lines: list[str] = []
    indent: int | None = None
    skipped = table = False

    def paragraph() -> Iterator[_Block]:
        if lines:
            yield _Block(section, anchor, " ".join(" ".join(lines).split()), indent)
            lines.clear()

    for line, following in pairwise([*markdown.splitlines(), ""]):
        if "<!-- START doctoc" in line or "<!-- END doctoc" in line or line.lstrip().startswith("```"):
            yield from paragraph()
            skipped = not skipped
        elif skipped or _RULER.match(line):
            continue
        elif heading := _HEADING.match(line):
            yield from paragraph()
            section, anchor, indent = heading[2].strip(), _anchor(heading[2].strip(), anchors), None
        elif not line.strip():
            yield from paragraph()
            table = False
        elif item := _ITEM.match(line):
            yield from paragraph()
            indent = len(item[1])
            lines.append(line[item.end() :])
        elif _RULER.match(following):
            table = True
        elif table:
            yield _Block(section, anchor, " ".join(line.strip(" |").split()), None, row=True)
        else:
            indent = None if not lines and not line.startswith(" ") else indent
            lines.append(line.strip())
    yield from paragraph()


def _anchor(heading: str, taken: dict[str, int]) -> str:
    anchor = re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
    taken[anchor] = taken.get(anchor, -1) + 1
    return f"{anchor}-{taken[anchor]}" if taken[anchor] else anchor


def read(folder: Path) -> list[Sentence]:
    """Return the normative sentences of all documents. A sentence of an accepted RFC that PROTOCOL.md has is left out.

    :raises FileNotFoundError: if the folder lacks one
    """
    found: dict[str, Sentence] = {}
    said: set[str] = set()
    for document in DOCUMENTS:
        listed = normative_sentences(document, (folder / document).read_text(encoding="utf-8"))
        found |= {each.digest: each for each in listed if each.text not in said}
        said |= {each.text for each in listed}
    return list(found.values())


def main(folder: str) -> None:
    """Write the inventory."""
    rows = [
        {"digest": s.digest, "document": s.document, "section": s.section, "anchor": s.anchor}
        for s in read(Path(folder))
    ]
    lines = ",\n".join(json.dumps(row) for row in rows)
    INVENTORY.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
