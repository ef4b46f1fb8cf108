from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from airflow_delta_provider.domain.rendering import sarif
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.sarif import render
from airflow_delta_provider.domain.report.report import JobReport, Severity, Status
from tests.unit.rendering.reports import (
    WAIVER,
    faulty,
    found,
    nasty_reports,
    of_everything,
    refused,
    report_of,
    undecided,
    violated,
)
from tests.unit.rendering.sarif_schema import LOG

Draft202012Validator.check_schema(LOG)
VALIDATOR = Draft202012Validator(LOG)


def run_of(report: JobReport, presentation: Presentation | None = None) -> Any:
    log = json.loads(render(report, presentation))
    assert [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(log)] == []
    [run] = log["runs"]
    driver, results = run["tool"]["driver"], run["results"]
    for result in results:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert not re.search(r"\]\(", result["message"]["text"])
        assert not re.search("[{}]", re.sub("{{|}}", "", result["message"]["text"]))
    assert len({"baselineState" in result for result in results}) <= 1, "all say it, or none"
    for known in run["invocations"]:
        for notification in (
            *known.get("toolExecutionNotifications", ()),
            *known.get("toolConfigurationNotifications", ()),
        ):
            descriptor = notification["descriptor"]
            assert driver["notifications"][descriptor["index"]]["id"] == descriptor["id"]
    return run


def uri_of(result: Any) -> str:
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert isinstance(uri, str)
    return uri


def test_finding_is_a_result_at_the_commit_that_made_it() -> None:
    [result] = run_of(report_of(violated("/lake/t", found(path="part 1.parquet", column="a.b"))))["results"]
    assert (result["ruleId"], result["level"]) == ("MD03", "error")
    assert result["message"]["text"].startswith("The commit has 2 metaData actions.\n")
    assert uri_of(result) == "lake/t/_delta_log/00000000000000000003.json"
    assert [place["fullyQualifiedName"] for place in result["locations"][0]["logicalLocations"]] == [
        "/lake/t",
        "/lake/t.a.b",
    ]
    [related] = result["relatedLocations"]
    assert related["physicalLocation"]["artifactLocation"] == {"uri": "lake/t/part%201.parquet", "uriBaseId": "FILE"}


VERSION_3 = "_delta_log/00000000000000000003.json"


@pytest.mark.parametrize(
    ("table", "kind", "uri", "base"),
    [
        ("s3://b/a b/t", "audit", f"b/a%20b/t/{VERSION_3}", "S3"),
        ("abfss://c@acc.dfs.core.windows.net/t", "audit", f"c@acc.dfs.core.windows.net/t/{VERSION_3}", "ABFSS"),
        ("hdfs://nn:8020/t", "audit", f"nn%3A8020/t/{VERSION_3}", "HDFS"),
        ("data/t/", "audit", f"data/t/{VERSION_3}", None),
        ("./data/t", "audit", f"data/t/{VERSION_3}", None),
        ("../data/t", "audit", f"../data/t/{VERSION_3}", None),
        ("./", "audit", VERSION_3, None),
        ("/", "audit", VERSION_3, "FILE"),
        ("a:b/t", "audit", f"a%3Ab/t/{VERSION_3}", None),
        ("delta.`/lake/t`", "audit", f"lake/t/{VERSION_3}", "FILE"),
        ("/lake/p", "check-paimon-row-tracking", "lake/p/snapshot/snapshot-3", "FILE"),
    ],
)
def test_place_of_a_table_is_a_relative_uri(table: str, kind: str, uri: str, base: str | None) -> None:
    """GitHub refuses the whole file if a URI has another scheme than file."""
    run = run_of(report_of(violated(table), kind=kind))
    [result] = run["results"]
    assert uri_of(result) == uri
    assert result["locations"][0]["physicalLocation"]["artifactLocation"].get("uriBaseId") == base
    assert set(run.get("originalUriBaseIds", ())) == {base} - {None}
    assert not urlsplit(uri).scheme


def test_results_are_as_many_as_github_accepts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_RESULTS", 3)
    severities = (Severity.WARNING, Severity.ERROR, Severity.UNDECIDED, Severity.WARNING, Severity.ERROR)
    tables = [violated(f"/lake/{number}", found(severity=severity)) for number, severity in enumerate(severities)]
    results = run_of(report_of(*tables))["results"]
    assert [result["properties"]["table"] for result in results] == ["/lake/1", "/lake/2", "/lake/4"]


def test_table_of_a_catalog_is_relative_to_that() -> None:
    run = run_of(report_of(violated("main.sales.orders")))
    [result] = run["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "main.sales.orders/_delta_log/00000000000000000003.json", "uriBaseId": "CATALOG"}
    assert set(run["originalUriBaseIds"]) == {"CATALOG"}


def test_finding_without_a_version_is_at_the_log() -> None:
    [result] = run_of(report_of(violated("/lake/t", found(version=None))))["results"]
    assert uri_of(result) == "lake/t/_delta_log"


def test_fingerprint_is_that_of_the_finding_and_differs_between_tables() -> None:
    report = report_of(violated("/lake/a"), violated("/lake/b"))
    first, second = (result["partialFingerprints"] for result in run_of(report)["results"])
    assert first["finding/v1"] == second["finding/v1"] == "f" * 16
    assert first["primaryLocationLineHash"] != second["primaryLocationLineHash"]
    reworded = report_of(violated("/lake/a", found(evidence="Said in another way.")))
    assert run_of(reworded)["results"][0]["partialFingerprints"] == first


def test_level_is_by_severity() -> None:
    tables = violated(), undecided(), violated("/lake/w", found("MD07", severity=Severity.WARNING))
    assert [result["level"] for result in run_of(report_of(*tables))["results"]] == ["error", "warning", "warning"]


def test_fixed_findings_are_left_out_and_accepted_ones_suppressed() -> None:
    aside = found("MD07", healed_version=4), found("MD08", status=Status.RESOLVED), found("TF01", waiver=WAIVER)
    healed_too = found("TF02", waiver=WAIVER, healed_version=4)
    results = run_of(report_of(violated("/lake/t", found(), *aside, healed_too)))["results"]
    assert [(result["ruleId"], len(result["suppressions"])) for result in results] == [("MD03", 0), ("TF01", 1)]
    assert results[1]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "data-team, until 2027-01-31: Known since the migration.",
        }
    ]


def test_what_is_new_is_said_where_it_is_known_of_all() -> None:
    tables = violated("a", found(status=Status.NEW)), violated("b", found(status=Status.KNOWN))
    assert [result["baselineState"] for result in run_of(report_of(*tables))["results"]] == ["new", "unchanged"]
    assert "baselineState" not in render(report_of(*tables, violated("c")))


def test_what_kept_a_table_from_being_checked_is_a_notification() -> None:
    run = run_of(report_of(violated(), refused(), faulty()))
    assert [result["ruleId"] for result in run["results"]] == ["MD03"]
    [invocation] = run["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["startTimeUtc"] == "2026-01-02T03:04:05.000Z"
    assert [n["descriptor"]["id"] for n in invocation["toolExecutionNotifications"]] == ["FT01"]
    assert [n["descriptor"]["id"] for n in invocation["toolConfigurationNotifications"]] == ["RQ01"]
    assert run_of(report_of(violated()))["invocations"][0]["executionSuccessful"]


def test_rule_is_described_and_linked_where_it_is_documented() -> None:
    linked = Presentation(rules=RuleLinks("https://docs.example.com/rules.html"))
    [rule] = run_of(report_of(violated()), linked)["tool"]["driver"]["rules"]
    assert rule["helpUri"] == "https://docs.example.com/rules.html#md03"
    assert "Remedy: " in rule["help"]["text"]
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert "helpUri" not in render(report_of(violated()))


def test_code_that_this_version_does_not_know_is_a_result_all_the_same() -> None:
    [result] = run_of(report_of(violated("t", replace(found(), code="ZZ99"))))["results"]
    assert result["ruleId"] == "ZZ99"


@given(nasty_reports)
def test_anything_in_names_and_messages_is_valid(report: JobReport) -> None:
    run = run_of(report)
    assert all(unquote(uri_of(result), errors="surrogatepass") for result in run["results"])


def test_every_way_to_end_and_none() -> None:
    run_of(of_everything())
    assert run_of(report_of())["results"] == []
