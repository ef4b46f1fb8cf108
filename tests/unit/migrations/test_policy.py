"""The policy for migrations: what rules weigh, which plans go ahead unasked, and what makes no sense."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from airflow_delta_provider.domain.checks.migrations.planned import AddedColumn, PlannedMigration
from airflow_delta_provider.domain.delta.data_type import LONG
from airflow_delta_provider.domain.report.report import Severity
from airflow_delta_provider.domain.spec.policy import Policy, PolicyError, TablePolicy, approval_reasons
from tests.unit.states import field, state_of, struct

TODAY = date(2026, 6, 1)
BEFORE = state_of(struct(field("id", "long"), field("qty", "integer")))
DROP = PlannedMigration(before=BEFORE, dropped=(("qty",),))
ADD = PlannedMigration(before=BEFORE, added=(AddedColumn(("note",), LONG),))
WAIVER = {"code": "MG01", "owner": "ana", "reason": "unused", "expires": "2026-12-31"}


def weighed(policy: dict[str, Any], table: str, plan: PlannedMigration = DROP) -> dict[str, Severity]:
    return {finding.code: finding.severity for finding in Policy.parse(policy).lint(plan, table, TODAY)}


def test_the_first_entry_that_fits_a_table_holds_for_it():
    policy = {
        "tables": [
            {"table": "s3://lake/gold/*", "error": ["MG01"], "ignored": "MG15"},
            {"table": "s3://lake/*", "warning": ["MG01"]},
        ]
    }
    assert weighed(policy, "s3://lake/gold/orders") == {"MG01": Severity.ERROR}
    assert weighed(policy, "s3://lake/silver/orders") == {"MG01": Severity.WARNING, "MG15": Severity.WARNING}
    assert weighed(policy, "elsewhere") == {"MG01": Severity.WARNING, "MG15": Severity.WARNING}


def test_no_policy_leaves_the_rules_as_they_are():
    assert Policy.parse(None).tables == ()
    assert Policy().of("t") == TablePolicy()
    assert weighed({}, "t") == {"MG01": Severity.WARNING, "MG15": Severity.WARNING}


def test_a_waived_finding_does_not_count():
    policy = Policy.parse({"waivers": [WAIVER], "tables": [{"table": "*", "error": ["MG01"]}]})
    dropped = next(finding for finding in policy.lint(DROP, "t", TODAY) if finding.code == "MG01")
    assert dropped.waiver is not None
    assert not dropped.is_open
    expired = next(finding for finding in policy.lint(DROP, "t", date(2027, 1, 1)) if finding.code == "MG01")
    assert expired.is_open


def test_the_limit_of_rewrites_is_in_gigabytes():
    assert Policy.parse({"tables": [{"table": "*", "max_rewrite_gb": 1.5}]}).of("t").most_rewritten == 1_500_000_000
    assert TablePolicy().most_rewritten is None


@pytest.mark.parametrize(
    ("conditions", "plan", "locks_out", "asks"),
    [
        (["additive"], ADD, False, 0),
        (["additive"], DROP, False, 1),
        (["no_warnings"], DROP, False, 1),
        (["additive", "no_warnings"], DROP, False, 2),
        ("no_errors", DROP, True, 0),
        (["metadata_only"], DROP, False, 0),
        (["metadata_only"], PlannedMigration(before=BEFORE, rewritten_files=1), False, 1),
        (["nobody_locked_out"], ADD, True, 1),
        (["nobody_locked_out"], ADD, False, 0),
        (None, ADD, False, 1),
    ],
)
def test_a_plan_goes_ahead_unasked_where_it_is_all_that_the_policy_wants(
    conditions: Any, plan: PlannedMigration, *, locks_out: bool, asks: int
):
    policy = Policy.parse({"tables": [{"table": "*", "approve_without_asking": conditions}]})
    findings = policy.lint(plan, "t", TODAY)
    assert len(approval_reasons(plan, findings, policy.of("t"), locks_out=locks_out)) == asks


def test_an_error_is_always_asked_about():
    policy = Policy.parse({"tables": [{"table": "*", "error": ["MG01"], "approve_without_asking": ["no_errors"]}]})
    findings = policy.lint(DROP, "t", TODAY)
    assert approval_reasons(DROP, findings, policy.of("t"), locks_out=False) == ("1 finding is an error.",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "the policy is []; it has to be a mapping with tables, waivers."),
        ({"table": []}, "the policy has the unknown key 'table'. Did you mean 'tables'?"),
        ({"tables": "t"}, "tables is 't'; it has to be a list of entries."),
        ({"tables": ["t"]}, "entry 1 of tables is 't'; it has to be a mapping with "),
        ({"tables": [{"error": []}]}, "entry 1 of tables names no table. "),
        (
            {"tables": [{"table": "t", "max_rewrites_gb": 1}]},
            "entry 1 of tables has the unknown key 'max_rewrites_gb'. Did you mean 'max_rewrite_gb'?",
        ),
        ({"tables": [{"table": "t", "error": ["MG001"]}]}, "error of t names 'MG001'. Did you mean 'MG01'?"),
        ({"tables": [{"table": "t", "error": [1]}]}, "error of t is [1]; it has to be a list of strings."),
        (
            {"tables": [{"table": "t", "error": ["MG01"], "ignored": ["MG01"]}]},
            "MG01 of t is named more than once. Name it once.",
        ),
        (
            {"tables": [{"table": "t", "max_rewrite_gb": "50"}]},
            "max_rewrite_gb of t is '50'; it has to be a number, 0 or above.",
        ),
        ({"tables": [{"table": "t", "max_rewrite_gb": True}]}, "max_rewrite_gb of t is True; "),
        ({"tables": [{"table": "t", "max_rewrite_gb": float("nan")}]}, "max_rewrite_gb of t is nan; "),
        (
            {"tables": [{"table": "t", "approve_without_asking": ["aditive"]}]},
            "approve_without_asking of t is 'aditive'; it has to be one of additive, ",
        ),
        ({"tables": [{"table": "t", "approve_without_asking": []}]}, "approve_without_asking of t is empty. "),
        ({"waivers": [{"code": "MG01"}]}, "waivers: entry 1 has no owner."),
        ({"waivers": 3}, "waivers: they have to be a list of entries, not 3"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(given: Any, message: str):
    with pytest.raises(PolicyError) as refused:
        Policy.parse(given)
    assert str(refused.value).startswith(message)
