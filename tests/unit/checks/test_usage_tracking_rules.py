"""The rules of usage tracking, one healthy table and one healthy commit broken in one place at a time."""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.delta.features.columns import USAGE_TRACKING
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_properties import DROPPED_OR_RENAMED
from airflow_delta_provider.domain.delta.table_state import Past, TableState
from airflow_delta_provider.domain.report.report import Severity
from tests.unit.check_families import check_change, check_state
from tests.unit.mapped_tables import ID, MAPPING, MODE, NAME, Json, added, at, configured, mapped, said, step, table
from tests.unit.mapped_tables import without as less
from tests.unit.states import LEGACY, field, struct

TRACKING = LEGACY.supporting(["columnMapping", USAGE_TRACKING.name])
UUID = "col-86d0c675-6408-4558-bfa2-e4cabc47b6ff"
SCHEMA = struct(field("a", "long"), field("s", struct(field("x", "integer"), field("y", "integer"))))
OWN: Json = mapped(SCHEMA, lambda name, _: name)
OTHER: Json = mapped(SCHEMA)


def tracked(value: str | None, schema: Json = OWN, *, mode: str = "name", protocol: Protocol = TRACKING) -> TableState:
    says = {} if value is None else {DROPPED_OR_RENAMED: value}
    return table(schema, configured(schema, mode) | says, protocol=protocol)


def renamed(schema: Json, path: str, name: str) -> Json:
    copied: Json = copy.deepcopy(schema)
    at(copied, path)["name"] = name
    return copied


def extra(name: str) -> Json:
    return {"name": "b", "type": "long", "nullable": True, "metadata": {ID: 9, NAME: name}}


STATES = {
    "nothing dropped": (tracked("false"), None),
    "something dropped": (tracked("true", OTHER), None),
    "not mapped": (tracked("false", OTHER, mode="none"), None),
    "neither feature nor property": (tracked(None, protocol=MAPPING), None),
    "no property": (tracked(None), "UT01"),
    "no truth value": (tracked("maybe"), "UT01"),
    "no feature": (tracked("false", protocol=MAPPING), "UT02"),
    "other names": (tracked("false", OTHER), "UT03"),
    "nested name": (tracked("false", renamed(OWN, "s.x", "z")), "UT03"),
    "a name of its own from the beginning": (tracked("false", added(OWN, extra(UUID))), None),
    "for readers": (
        tracked(
            "false",
            protocol=Protocol(3, 7, frozenset({"columnMapping", USAGE_TRACKING.name}), TRACKING.writer_features),
        ),
        "UT08",
    ),
    "writer version 5": (tracked("false", protocol=Protocol(2, 5, None, TRACKING.writer_features)), "UT08"),
}


@pytest.mark.parametrize(("state", "code"), STATES.values(), ids=STATES)
def test_state(state: TableState, code: str | None) -> None:
    findings = check_state(state, "UT")
    assert [finding.code for finding in findings] == ([] if code is None else [code])
    assert all(finding.severity is RULES[finding.code].severity for finding in findings)


MAPPED_BEFORE = tracked(None, protocol=MAPPING)
UNMAPPED_BEFORE = table(OWN, {MODE: "none"}, protocol=LEGACY)

COMMITS = {
    "nothing": (tracked("false"), tracked("false"), None),
    "dropped and tracked": (tracked("false"), tracked("true", less(OWN, "a")), None),
    "renamed and tracked": (tracked("false"), tracked("true", renamed(OWN, "s.x", "z")), None),
    "added under its own name": (tracked("false"), tracked("false", added(OWN, extra("b"))), None),
    "added under a unique name": (tracked("true"), tracked("true", added(OWN, extra(UUID))), None),
    "turned on before the mapping": (UNMAPPED_BEFORE, tracked("false"), None),
    "turned on with the mapping": (MAPPED_BEFORE, tracked("true"), None),
    "dropped without the feature": (MAPPED_BEFORE, tracked(None, less(OWN, "a"), protocol=MAPPING), None),
    "dropped and unmapped": (tracked("false"), tracked("false", less(OWN, "a"), mode="none"), None),
    "set back": (tracked("true"), tracked("false"), ("UT04", None)),
    "turned on as unused": (MAPPED_BEFORE, tracked("false"), ("UT05", None)),
    "dropped": (tracked("false"), tracked("false", less(OWN, "a")), ("UT06", "a")),
    "dropped below": (tracked("false"), tracked("false", less(OWN, "s")), ("UT06", "s")),
    "renamed": (tracked("false"), tracked("false", renamed(OWN, "a", "b")), ("UT06", "a")),
    "renamed below": (tracked("false"), tracked("false", renamed(OWN, "s.x", "z")), ("UT06", "s.x")),
    "dropped and added": (tracked("false"), tracked("false", added(less(OWN, "a"), extra("a"))), ("UT06", "a")),
    "no unique name": (tracked("true"), tracked("true", added(OWN, extra("b"))), ("UT07", "b")),
    "no unique name, dropped just now": (
        tracked("false"),
        tracked("true", added(less(OWN, "a"), extra("b"))),
        ("UT07", "b"),
    ),
}


@pytest.mark.parametrize(("before", "after", "expected"), COMMITS.values(), ids=COMMITS)
def test_commit(before: TableState, after: TableState, expected: tuple[str, str | None] | None) -> None:
    transition = step(before, after)
    assert said(check_change(transition, "UT")) == ([] if expected is None else [expected])
    replaced = check_change(replace(transition, replaces_all=True), "UT")
    assert said(replaced) == ([expected] if expected == ("UT04", None) else [])
    assert {finding.severity for finding in replaced} <= {Severity.ERROR}
    other = replace(after, metadata=replace(after.metadata, id="another"))
    created = check_change(replace(step(before, other), replaces_all=True), "UT")
    assert {finding.severity for finding in created} <= {Severity.WARNING}
    restored = said(check_change(replace(transition, restores=True), "UT"))
    assert restored == ([expected] if expected == ("UT04", None) else [])


def test_what_was_ever_true_stays_so() -> None:
    missing = step(tracked(None), tracked("false"))
    assert said(check_change(missing, "UT")) == []
    assert said(check_change(replace(missing, past=Past(ever_dropped=True)), "UT")) == [("UT04", None)]
    unchanged = step(tracked("false"), tracked("false"))
    assert said(check_change(replace(unchanged, past=Past(ever_dropped=True)), "UT")) == []


def test_errors_weigh_as_the_catalogue_says() -> None:
    codes = {code: rule.severity for code, rule in RULES.items() if code.startswith("UT")}
    assert [code for code, severity in codes.items() if severity is Severity.WARNING] == ["UT02", "UT03"]
    assert len(codes) == 8
