"""Patterns of lines: each line fits the patterns that it fits by itself, whatever stands around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.audit.fast_path.json_pattern import (
    JsonPattern,
    Keys,
    LinePatterns,
    NoPatternError,
    Open,
)

LINES = [
    '{"a":{"n":1,"t":"x"}}',
    '{"a":{"n":1,"t":"x","more":{"n":5}}}',
    '{"a":{"n":1,"t":"x","more":{"k":true}}}',
    '{"b": {"n": 1}}',
    '{"a":{"t":"x","n":1}}',
]


def _choose(keys: Keys, value: Any) -> Open | None:
    return {int: Open.NATURAL, str: Open.PLAIN_TEXT}.get(type(value))


PATTERNS = [JsonPattern(line, _choose) for line in LINES]
CHANGED = st.sampled_from(LINES).flatmap(
    lambda line: st.tuples(st.just(line), st.sampled_from("17xy{}\"', :"), st.integers(0, len(line)), st.booleans())
)


def _text(changes: list[tuple[str, str, int, bool]]) -> str:
    lines = [line[:place] + sign + line[place + replaced :] for line, sign, place, replaced in changes]
    return "".join(f"{line}\n" for line in [*lines, *LINES, ""])


@given(st.lists(CHANGED, max_size=6), st.permutations(range(len(LINES))))
def test_lines_of_a_text_fit_as_each_does_by_itself(
    changes: list[tuple[str, str, int, bool]], order: list[int]
) -> None:
    text, patterns = _text(changes), [PATTERNS[number] for number in order]
    together = LinePatterns(patterns)
    rows = together.rows(text)
    assert len(rows) == text.count("\n")
    for line, row in zip(text.split("\n"), rows):
        fitting = [pattern.fits(line) for pattern in patterns]
        found = [values(row) if row[sign] else None for sign, values in zip(together.signs, together.values)]
        assert found == fitting
        assert row[-1] == ("" if any(values is not None for values in fitting) else line)


def test_what_is_not_needed_is_matched_only() -> None:
    pattern = JsonPattern(LINES[0], _choose, lambda keys: keys == ("a", "t"))
    assert pattern.keys == [("a", "t")]
    assert pattern.fits('{"a":{"n":77,"t":"y"}}') == ("y",)
    assert pattern.fits('{"a":{"n":-7,"t":"y"}}') is None


def test_open_objects_end_with_their_line() -> None:
    pattern = JsonPattern('{"a":{},"b":1}', lambda keys, _: Open.OBJECT if keys == ("a",) else None)
    (row,) = LinePatterns([pattern]).rows('{"a":{"x":"}"},"b":1}\n')
    assert row[-1] == '{"a":{"x":"}"},"b":1}'
    rows = LinePatterns([pattern]).rows('{"a":{\n},"b":1}\n')
    assert [row[-1] for row in rows] == ['{"a":{', '},"b":1}']


def test_document_with_a_key_twice_is_no_pattern() -> None:
    with pytest.raises(NoPatternError):
        JsonPattern('{"a":1,"a":2}', _choose)
    assert json.loads('{"a":1,"a":2}') == {"a": 2}
