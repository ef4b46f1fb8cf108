from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.formats.yaml_documents import comment, parse_yaml, to_yaml

_ODD = [
    *("no", "Yes", "~", "1e3", "0x1", "1_0", "=", "<<", "2024-01-01", "a: b", "a #b", "- a", "{a}", "s3://a/b", "? x"),
    *(
        "%a",
        "@a",
        "`a`",
        "a" * 1500,
        "😀",
        "\x85",
        "\u2028",
        "\ufeff",
        "12:30:45",
        ".5",
        "a:",
        "null",
        " a",
        "a ",
        "!!x",
    ),
    *("&a", "*a", "|", ">", "---", "'", '"', "\\", "größe", "a\nb"),
]
_TEXTS = st.text(max_size=30) | st.sampled_from(_ODD)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _TEXTS,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(_TEXTS, inside, max_size=4),
    max_leaves=20,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(_TEXTS, _VALUES, min_size=1, max_size=5))
def test_every_reader_takes_it_for_the_same_values(value):
    text = to_yaml(value)
    assert parse_yaml(text) == value
    assert yaml.safe_load(text) == value


@pytest.mark.parametrize("text", _ODD)
def test_text_is_read_as_a_text_everywhere(text):
    value = {text: text, "list": [text], "columns": [{text: text}]}
    assert parse_yaml(to_yaml(value)) == value


def test_people_can_read_it():
    columns = [
        {"name": "id", "type": "bigint", "nullable": False},
        {"name": "no", "type": "decimal(12,2)"},
        {"name": "s", "type": "struct", "fields": [{"name": "größe"}]},
    ]
    value = {"table": "s3://lake/orders", "columns": columns, "drop": ["a", "b"], "properties": {"delta.x": None}}
    assert comment("of s3://lake\n\x00") + to_yaml(value) == (
        "# of s3://lake\n"
        "# \\0\n"
        "table: s3://lake/orders\n"
        "columns:\n"
        "  - {name: id, type: bigint, nullable: false}\n"
        '  - {name: "no", type: "decimal(12,2)"}\n'
        "  - name: s\n"
        "    type: struct\n"
        "    fields:\n"
        "      - {name: größe}\n"
        "drop: [a, b]\n"
        "properties:\n"
        "  delta.x: null\n"
    )
