from __future__ import annotations

import json

from hypothesis import given, settings

from airflow_delta_provider.domain.formats.yaml_documents import parse_yaml, to_yaml
from airflow_delta_provider.domain.spec.reading import read_spec
from airflow_delta_provider.domain.spec.table_spec import TableSpec
from tests.unit.spec.random_specs import specs
from tests.unit.spec.spec_texts import parse_file


@settings(max_examples=300, deadline=None)
@given(specs())
def test_spec_is_the_same_after_json_and_yaml(spec):
    wire = spec.to_json()
    assert TableSpec.from_json(wire) == spec
    assert TableSpec.from_json(json.loads(json.dumps(wire))) == spec
    assert TableSpec.from_json(wire).to_json() == wire
    if wire:
        text = to_yaml(wire)
        assert read_spec(parse_yaml(text)) == spec
        assert parse_file(json.dumps(wire), "a.json") == (spec,)
