"""Every normative sentence of the protocol has a rule and a damage that shows it, or a reason."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

from airflow_delta_provider.domain.checks.registry import RULES
from scripts.protocol_coverage.entries import entries, places
from scripts.protocol_coverage.sentences import normative_sentences
from tests.unit.audit.test_audit_permitted import SOUND
from tests.unit.damages import CASES

CHECKOUT = Path(__file__).resolve().parents[3]
ENTRIES = entries()
NAMED_CASES = {f"{case.code} {case.name}".strip(): case.code for case in CASES} | {
    case.code: case.code for case in CASES
}


def test_each_sentence_has_an_entry_and_each_entry_a_sentence():
    assert sorted(ENTRIES) == sorted(place.digest for place in places())


@pytest.mark.parametrize("digest", ENTRIES)
def test_entry_names_rules_and_what_shows_that_they_find_it(digest: str):
    entry = ENTRIES[digest]
    assert [code for code in entry.rules if code not in RULES] == []
    assert [case for case in entry.cases if not shows(case, entry.rules)] == []
    assert [name for name in entry.sound if not is_sound(name)] == []


def test_each_sound_table_is_named_for_a_sentence():
    assert SOUND.keys() - {name for entry in ENTRIES.values() for name in entry.sound} == set()


def is_sound(name: str) -> bool:
    file, _, test = name.partition("::")
    return test in functions(file) if test else name in SOUND


def shows(case: str, codes: list[str]) -> bool:
    file, _, test = case.partition("::")
    return test in functions(file) if test else NAMED_CASES.get(case) in codes


@cache
def functions(file: str) -> frozenset[str]:
    tree = ast.parse((CHECKOUT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


DOCUMENT = """\
# Title
Introduction. Nothing here binds anyone.

## Writers
Writers must:
- write a log, and
  - nothing else
- close it.

Writers may rest. A file (e.g. `a`) must
exist!

Field | Meaning
-|-
path | must be a URI. Relative or absolute.
size | any

```
It must not count in code.
```
## Writers
It is required.
"""


def test_sentences_that_bind_are_found_with_the_items_that_they_introduce_and_all_rows():
    found = [(sentence.anchor, sentence.text) for sentence in normative_sentences("D.md", DOCUMENT)]
    assert found == [
        ("writers", "Writers must:"),
        ("writers", "write a log, and"),
        ("writers", "nothing else"),
        ("writers", "close it."),
        ("writers", "Writers may rest."),
        ("writers", "A file (e.g. `a`) must exist!"),
        ("writers", "path | must be a URI. Relative or absolute."),
        ("writers", "size | any"),
        ("writers-1", "It is required."),
    ]
