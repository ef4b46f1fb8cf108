from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings

from airflow_delta_provider.domain.formats.yaml_documents import parse_yaml, unmarked
from airflow_delta_provider.domain.spec import columns, reading
from airflow_delta_provider.domain.spec.files import read_specs
from airflow_delta_provider.domain.spec.problem import COLUMN_KEYS, TABLE_KEYS, TYPE_KEYS, SpecError, json_schema
from scripts.spec_page import SCHEMA
from tests.unit.spec.random_specs import specs
from tests.unit.spec.spec_texts import parse_file
from tests.unit.spec.test_reading import _WHOLE
from tests.unit.spec.test_spec_file import _SEVERAL

VALIDATOR = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "declare-tables.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)[:-1]


def test_schema_is_one():
    jsonschema.Draft7Validator.check_schema(json_schema())


def test_reader_reads_each_key():
    assert set(reading._READ) == set(TABLE_KEYS)
    assert set(columns._READ) == COLUMN_KEYS.keys() - TYPE_KEYS.keys()


@pytest.mark.parametrize("text", [_WHOLE, _SEVERAL, *EXAMPLES])
def test_what_is_read_fits_the_schema(text):
    assert parse_file(text, "a.yaml")
    assert list(VALIDATOR.iter_errors(unmarked(parse_yaml(text)))) == []


@settings(max_examples=100, deadline=None)
@given(specs())
def test_plain_values_of_every_spec_fit_the_schema(spec):
    assert list(VALIDATOR.iter_errors(spec.to_json())) == []


@pytest.mark.parametrize(
    "values",
    [
        {"tabel": "/t"},
        {"columns": [{"name": "a", "typ": "int"}]},
        {"columns": [{"type": "int"}]},
        {"columns": [{"name": "a", "fields": []}]},
        {"columns": [{"name": False}]},
        {"columns": [{"name": "a", "nullable": "no"}]},
        {"columns": [{"name": "a", "type": "struct", "fields": [{"name": "b", "default": "1"}]}]},
        {"columns": [{"name": "a", "type": "array", "element": {}}]},
        {"columns": [{"name": "a", "on_loss": "zero"}]},
        {"drop": "a"},
        {"drop": ["a", "a"]},
        {"properties": {"a": []}},
        {"features": [1]},
        {"exact": "yes", "columns": [{"name": "a"}]},
        {"tables": []},
        {"tables": [{}]},
        {"tables": [{"table": "/t"}], "columns": []},
        {"defaults": {"table": "/t"}, "tables": [{"table": "/t"}]},
        {"defaults": {}},
    ],
)
def test_what_the_schema_refuses_is_not_read(values):
    assert list(VALIDATOR.iter_errors(values)) != []
    with pytest.raises(SpecError):
        read_specs(values)


def test_mistakes_in_the_guide_are_said_so():
    text = "table: t\ncolumns:\n  - {name: id}\n  - {name: a, type: bignt}\n  - {name: b}\n  - {name: no}\n"
    with pytest.raises(SpecError) as raised:
        parse_file(text, "orders.yaml")
    (shown,) = re.findall(r"```text\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert str(raised.value) == shown.strip()
