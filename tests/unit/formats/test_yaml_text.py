from __future__ import annotations

import copy
import pickle
from datetime import date

import pytest

from airflow_delta_provider.domain.formats import yaml_documents
from airflow_delta_provider.domain.formats.yaml_documents import (
    Mark,
    YamlError,
    key_mark_of,
    mark_of,
    parse_yaml,
    unmarked,
)

_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + level)}: &{chr(98 + level)} [{','.join([f'*{chr(97 + level)}'] * 9)}]\n" for level in range(9)
)
_MERGE_BOMB = f"a: &a {{{','.join(f'k{n}: 1' for n in range(2000))}}}\nb: [{','.join(['{<<: *a}'] * 1000)}]"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a: 1\nb: [x, {c: no}, 1.5, ~]", {"a": 1, "b": ["x", {"c": False}, 1.5, None]}),
        ("a: 2026-01-31", {"a": date(2026, 1, 31)}),
        ("a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
        ("a: &x {k: 1, j: 1}\nb: {<<: *x, k: 2}", {"a": {"k": 1, "j": 1}, "b": {"k": 2, "j": 1}}),
        ("a: {k: 2, <<: [{k: 1, j: 1}, {j: 3}]}", {"a": {"k": 2, "j": 1}}),
        ('{"a": "\\u00e4", "<<": ["b"]}', {"a": "ä", "<<": ["b"]}),
        ("\ufeffa: 😀", {"a": "😀"}),
        ("- <<\n- !!str 1", ["<<", "1"]),
    ],
)
def test_text_is_read_as_plain_values(text, value):
    assert parse_yaml(text) == value
    assert unmarked(parse_yaml(text)) == value


def test_values_and_keys_know_where_they_were_written():
    read = parse_yaml("a: 1\nb:\n  - {name: no}\n")
    assert key_mark_of(read, "b") == Mark(2, 1, "b")
    assert mark_of(read["b"], 0) == Mark(3, 5)
    assert mark_of(read["b"][0], "name") == Mark(3, 12, "no")
    assert mark_of({"b": 1}, "b") is None
    assert copy.deepcopy(read) == pickle.loads(pickle.dumps(read)) == read


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1", "it is not YAML: while parsing a flow sequence"),
        ("a:\n\t- b", "line 2, column 1: it is not YAML: the line is indented with a tab. Use spaces"),
        ("a: 1\n\na: 2", "line 3, column 1: the key 'a' is there twice; the first is in line 1"),
        ("a: &x {k: 1}\nb: {<<: *x, k: 1, k: 2}", "line 2, column 19: the key 'k' is there twice"),
        ("a: &x [*x]", "lies in itself"),
        ("a: *y", "refers to nothing before it"),
        ("!!python/object/apply:os.system ['x']", "the tag !!python/object/apply:os.system is not taken"),
        ("a: !mine 1", "the tag !mine is not taken"),
        ("a: !!binary eA==", "the tag !!binary is not taken"),
        ("a: !!set {x}", "the tag !!set is not taken"),
        ("--- 1\n--- 2", "a second document"),
        ("a: 2026-13-45", "'2026-13-45' is not a valid timestamp"),
        (f"a: {'9' * 5000}", "is not a valid int"),
        ("? [a]\n: b", "a key is a list or a mapping"),
        ("a: {<<: 1}", "<< takes a mapping"),
        ("a: \x00", "line 1, column 4"),
        ("a: \ud800", "line 1, column 4: it"),
        ("[" * 100_000, "nested more than 200 deep"),
        ("- " * 100_000, "nested more than 200 deep"),
        (_BOMB, "more than 1,000,000 values"),
        (_MERGE_BOMB, "more than 1,000,000 values"),
        (" " * (yaml_documents.MOST_CHARACTERS + 1), "characters; at most"),
    ],
)
@pytest.mark.parametrize("in_c", [True, False])
def test_what_is_refused_says_where_and_why(text, message, in_c, monkeypatch):
    if not in_c:
        monkeypatch.delattr("yaml.CSafeLoader")
    with pytest.raises(YamlError) as raised:
        parse_yaml(text)
    assert message in str(raised.value)


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setattr(yaml_documents, "import_module", lambda name: exec("raise ImportError"))
    with pytest.raises(YamlError, match="pip install PyYAML"):
        parse_yaml("a: 1")
