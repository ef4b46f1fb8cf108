"""Every operator takes the options of its kind, each as an argument with a type and a documentation of its own."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from datetime import datetime
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_delta_provider.domain.request.kinds import KINDS, load
from airflow_delta_provider.operators.apply_migration import DeltaApplyMigrationOperator
from airflow_delta_provider.operators.apply_repair import DeltaApplyRepairOperator
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.delta_job import DeltaJobOperator
from airflow_delta_provider.operators.delta_task import DeltaChangeOperator, DeltaReadOperator
from airflow_delta_provider.operators.drop_feature import DeltaDropFeatureOperator
from tests.every_kind import REQUESTS

#: Arguments that an operator has besides the options of its kind.
FURTHER: dict[type, set[str]] = {
    DeltaApplyMigrationOperator: {"approval", "approvers"},
    DeltaApplyRepairOperator: {"approval", "approvers"},
    DeltaAuditProtocolOperator: {"config", "exclude", "schema"},
    DeltaChangeOperator: {"dry_run"},
    DeltaDropFeatureOperator: {"wait"},
    DeltaReadOperator: {"engine"},
}
OPERATORS = {name: load(kind.operator) for name, kind in KINDS.items() if kind.operator}


def classes(operator: type) -> list[type]:
    """The operator and its bases, without the one that all have."""
    return [each for each in operator.__mro__ if issubclass(each, DeltaJobOperator) and each is not DeltaJobOperator]


def arguments(operator: type) -> dict[str, inspect.Parameter]:
    found = {}
    for each in reversed(classes(operator)):
        signature = inspect.signature(each.__init__)  # type: ignore[misc]  # of a class
        found.update({name: p for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY})
    return found


@pytest.mark.parametrize("name", OPERATORS)
def test_operator_takes_what_its_kind_may_be_asked_for(name: str) -> None:
    operator, options = OPERATORS[name], load(KINDS[name].options)
    assert operator.options_type is options
    further = set[str]().union(*(FURTHER.get(each, set()) for each in classes(operator)))
    own = {option for option, declared in options.declared().items() if declared.argument is None}
    taken = arguments(operator)
    assert set(taken) == own | further
    defaults = {field.name: field.default for field in fields(options)}
    for option in own:
        required = options.declared()[option].one is not None
        assert (taken[option].default is inspect.Parameter.empty) == required
        assert required or taken[option].default is None or taken[option].default == defaults[option], option


@pytest.mark.parametrize("name", OPERATORS)
def test_options_that_are_templated_are_template_fields(name: str) -> None:
    assert set(load(KINDS[name].options).templated()) <= set(OPERATORS[name].template_fields)


@pytest.mark.parametrize("name", OPERATORS)
def test_argument_is_documented_and_templated_where_that_is_said(name: str) -> None:
    operator = OPERATORS[name]
    documentation = "\n".join(each.__doc__ or "" for each in classes(operator))
    for argument in arguments(operator):
        text = re.search(rf":param {argument}:(.*?)(?=\n\s*:param|\n\n|\Z)", documentation, re.DOTALL)
        assert text is not None, argument
        # A schema is rendered as part of the tables that it stands for.
        templated = argument in operator.template_fields or argument == "schema"
        assert ("(templated)" in text[1]) == templated, argument
    assert len(operator.template_fields) == len(set(operator.template_fields))


@pytest.mark.parametrize("name", OPERATORS)
def test_options_are_the_same_from_values_and_from_the_texts_that_jinja_makes_of_them(name: str) -> None:
    operator, options = OPERATORS[name], REQUESTS[name]
    given = {option: getattr(options, option) for option in options.declared()}
    given = {option: value for option, value in given.items() if value not in (None, (), {})}
    templates: dict[str, Any] = {
        option: f"{{{{ {option} }}}}" if option in operator.template_fields else value
        for option, value in given.items()
    }
    with DAG("d", schedule=None, start_date=datetime(2026, 1, 1)):
        literal = operator(task_id="literal", table="/t", **given)
        rendered = operator(task_id="rendered", table="/t", **templates)
    rendered.render_template_fields(given)
    assert literal.options() == rendered.options() == options


def test_time_of_an_audit_is_a_template_like_any_other() -> None:
    DeltaAuditProtocolOperator(task_id="t", table="/t", timestamp="{{ data_interval_end }}")
