from __future__ import annotations

import json
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import not_checked
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.protocol import Protocol
from airflow_delta_provider.domain.delta.table_state import detail_of
from airflow_delta_provider.domain.rendering.text import render_log
from airflow_delta_provider.domain.report.findings_table import COLUMNS
from airflow_delta_provider.domain.report.report import (
    DamagedReportError,
    Finding,
    JobReport,
    ReportPlace,
    Severity,
    TableReport,
    Verdict,
    verdict_of,
    worst,
)
from airflow_delta_provider.domain.report.summary import (
    MAX_BYTES,
    MAX_TABLES,
    CutSummaryError,
    all_tables_with,
    findings_of,
    summarise,
    tables_with,
    violated_tables,
)
from airflow_delta_provider.domain.request.kinds import KINDS
from tests.unit.report_contract import SCHEMA, violations
from tests.unit.states import field, state_of, struct

NOW = "2026-01-02T03:04:05.678+00:00"
texts = st.text(min_size=1, max_size=30)
versions = st.none() | st.integers(0, 2**40)
evidences = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "level": st.sampled_from(["log", "footers", "data"]),
        "files": versions,
        "rows": versions,
        "files_with_materialized_ids": versions,
        "materialized_ids_read": versions,
        "row_id_high_water_mark": st.none() | st.integers(-1, 2**63 - 1),
        "later": texts,
    },
)
protocols = st.none() | st.sampled_from(
    [Protocol(1, 2).to_json(), Protocol(3, 7, frozenset({"typeWidening"}), frozenset({"typeWidening"})).to_json()]
)
details = st.none() | st.builds(
    detail_of,
    st.builds(state_of, st.sampled_from([struct(), struct(field("q", "integer"))])),
    texts,
    st.none() | st.just(Commit(3, {"timestamp": 1, "operation": "WRITE"})),
)
findings = st.builds(
    Finding,
    st.sampled_from(sorted(RULES)),
    st.sampled_from(Severity),
    texts,
    version=versions,
    path=st.none() | texts,
    column=st.none() | texts,
    engine=st.none() | texts,
    operation=st.none() | texts,
    timestamp=st.none() | texts,
)


@st.composite
def table_reports(draw):
    known = {
        "version": draw(versions),
        "changed": draw(st.booleans()),
        "version_before": draw(versions),
        "protocol_before": draw(protocols),
        "protocol_after": draw(protocols),
        "evidence": draw(evidences),
        "detail": draw(details),
        "timings": draw(st.dictionaries(st.sampled_from(["read", "apply", "verify"]), st.floats(0, 1e6))),
    }
    found = draw(st.lists(findings, max_size=3))
    if draw(st.booleans()) and found:
        return TableReport(draw(texts), Verdict.FAULT, findings=tuple(found), retryable=draw(st.booleans()), **known)
    return TableReport.of_findings(draw(texts), *found, **known)


reports = st.builds(
    JobReport,
    st.sampled_from(sorted(KINDS)),
    st.just(NOW),
    st.just(NOW),
    st.lists(table_reports(), max_size=4).map(tuple),
    st.just({"spark": "4.2.0", "delta": None}),
)


def report_of(*tables: TableReport) -> JobReport:
    return JobReport("enable-feature", NOW, NOW, tables, {"spark": "4.2.0", "delta": "4.4.0"})


def finding(message: str = "broken", severity: Severity = Severity.ERROR, **where) -> Finding:
    return Finding("RT05", severity, message, **where)


# -- verdicts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("severities", "verdict"),
    [
        ([], Verdict.PASS),
        ([Severity.WARNING], Verdict.PASS),
        ([Severity.WARNING, Severity.UNDECIDED], Verdict.UNDETERMINED),
        ([Severity.UNDECIDED, Severity.ERROR, Severity.WARNING], Verdict.VIOLATED),
    ],
)
def test_severities_add_up_to_the_verdict(severities, verdict):
    assert verdict_of(severities) is verdict


def test_verdict_of_a_job_is_the_worst_of_its_tables():
    order = [Verdict.PASS, Verdict.UNDETERMINED, Verdict.VIOLATED, Verdict.REFUSED, Verdict.FAULT]
    for rank, verdict in enumerate(order):
        assert worst(reversed(order[: rank + 1])) is verdict
    assert worst([]) is Verdict.PASS


# -- wire form and schema -------------------------------------------------------------------------


@given(reports)
def test_report_written_fits_the_schema_and_reads_back_as_it_was(report):
    wire = json.loads(json.dumps(report.to_json()))
    assert violations(wire) == []
    again = JobReport.from_json(wire)
    assert again.to_json() == wire
    assert [table.findings for table in again.tables] == [table.findings for table in report.tables]


def test_wire_form_of_a_table_has_every_field():
    assert TableReport.of_findings("t").to_json().keys() == {field.name for field in fields(TableReport)}


def test_schema_names_every_key_of_the_dataclasses_and_no_other():
    definitions = SCHEMA["$defs"]
    assert set(definitions["finding"]["properties"]) == {f.name for f in fields(Finding)}
    assert set(definitions["table"]["properties"]) == {f.name for f in fields(TableReport)}
    assert set(SCHEMA["properties"]) == set(replace(report_of(), warnings=("said",)).to_json())
    assert definitions["verdict"]["enum"] == [verdict.value for verdict in Verdict]
    assert set(SCHEMA["properties"]["kind"]["enum"]) == set(KINDS)


@pytest.mark.parametrize(
    "damage",
    [
        lambda wire: wire.update(surprise=1),
        lambda wire: wire["tables"][0].update(surprise=1),
        lambda wire: wire["tables"][0]["findings"][0].update(surprise=1),
        lambda wire: wire["tables"][0].update(verdict="FINE"),
        lambda wire: wire["tables"][0].update(findings=[]),  # a refusal has to say why
        lambda wire: wire["tables"][0]["findings"][0].update(message=""),
        lambda wire: wire["tables"][0].pop("retryable"),
        lambda wire: wire["tables"][0].update(evidence=[]),
        lambda wire: wire["tables"][0].update(evidence={"files": -1}),
        lambda wire: wire["tables"][0].update(evidence={"level": "all"}),
        lambda wire: wire.update(schema_version=2),
        lambda wire: wire.update(started_at="yesterday"),
    ],
)
def test_damaged_report_breaks_the_schema(damage):
    wire = report_of(TableReport.refused("t", finding())).to_json()
    assert violations(wire) == []
    damage(wire)
    assert violations(wire) != []


def test_report_of_a_later_schema_version_is_refused_with_the_remedy():
    wire = {**report_of().to_json(), "schema_version": 2}
    with pytest.raises(ValueError, match="one version of the provider on both sides"):
        JobReport.from_json(wire)


@pytest.mark.parametrize(
    "damage", [{"tables": None}, {"tables": [{}]}, {"tables": [1]}, {"tables": [{"verdict": "?"}]}]
)
def test_report_that_is_incomplete_is_refused_as_damaged(damage):
    with pytest.raises(DamagedReportError, match="not a whole report"):
        JobReport.from_json({**report_of().to_json(), **damage})
    with pytest.raises(DamagedReportError, match=r"not a whole report.*'kind'"):
        JobReport.from_json({"schema_version": 1, **damage})


def test_keys_of_a_later_provider_are_ignored_where_the_version_is_the_same():
    wire = report_of(TableReport.of_findings("t", finding())).to_json()
    wire["tables"][0]["later"] = wire["tables"][0]["findings"][0]["later"] = 1
    assert JobReport.from_json(wire).tables[0].findings == (finding(),)


def test_evidence_of_a_check_is_always_written_and_null_where_there_is_none():
    evidence = {"level": "footers", "files": 3, "rows": 30, "row_id_high_water_mark": 29}
    assert TableReport.of_findings("t", evidence=evidence).to_json()["evidence"] == evidence
    assert TableReport.of_findings("t").to_json()["evidence"] is None


def test_report_of_an_earlier_provider_without_evidence_is_read_and_fits_the_schema():
    wire = report_of(TableReport.of_findings("t")).to_json()
    del wire["tables"][0]["evidence"]
    assert violations(wire) == []
    assert JobReport.from_json(wire).tables[0].evidence is None


def test_finding_leaves_out_what_is_not_known():
    assert finding(version=0).to_json() == {
        "code": "RT05",
        "severity": "ERROR",
        "message": "broken",
        "version": 0,
    }


# -- summaries ------------------------------------------------------------------------------------


def many_tables(number: int, name_length: int) -> JobReport:
    verdicts = [Verdict.PASS, Verdict.VIOLATED, Verdict.FAULT, Verdict.REFUSED, Verdict.UNDETERMINED]
    return report_of(
        *(
            TableReport(
                f"{index:05d}{'ü' * name_length}",
                verdicts[index % len(verdicts)],
                findings=(finding("ü" * 300),) if index % len(verdicts) else (),
            )
            for index in range(number)
        )
    )


@pytest.mark.parametrize(("number", "name_length"), [(100, 10), (101, 10), (5000, 10), (5000, 1000), (40, 20_000)])
def test_summary_and_findings_stay_in_their_bounds_and_say_when_they_are_cut(number, name_length):
    report = many_tables(number, name_length)
    summary, found = summarise(report), findings_of(report)
    assert len(json.dumps(summary).encode()) <= MAX_BYTES
    assert len(json.dumps(found).encode()) <= MAX_BYTES
    assert len(summary["tables"]) <= MAX_TABLES
    assert summary["truncated"] == (len(summary["tables"]) < number)
    assert sum(summary["counts"].values()) == number
    assert summary["verdict"] == "FAULT"


def test_summary_keeps_all_of_a_hundred_tables_and_shows_the_worst_first():
    summary = summarise(many_tables(100, 10))
    assert len(summary["tables"]) == 100
    assert not summary["truncated"]
    ranks = [Verdict(row["verdict"]).rank for row in summary["tables"]]
    assert ranks == sorted(ranks, reverse=True)


def test_summary_that_is_cut_loses_what_went_best():
    summary = summarise(many_tables(400, 10))
    assert {row["verdict"] for row in summary["tables"]} == {"FAULT", "REFUSED"}
    assert summary["truncated"]


def test_summary_row_has_table_verdict_version_changed_and_number_of_findings():
    table = TableReport.of_findings("t", finding(), finding(), version=7, changed=True)
    assert summarise(report_of(table)) == {
        "schema_version": 1,
        "kind": "enable-feature",
        "verdict": "VIOLATED",
        "changed": True,
        "counts": {"VIOLATED": 1},
        "tables": [{"table": "t", "verdict": "VIOLATED", "version": 7, "changed": True, "findings": 2}],
        "truncated": False,
    }


def test_violated_tables_are_those_that_broke_a_rule_and_no_refusals():
    report = report_of(
        TableReport.of_findings("good"),
        TableReport.of_findings("bad", finding()),
        TableReport.refused("wrong", finding()),
    )
    assert violated_tables(summarise(report)) == ["bad"]
    assert sorted(tables_with(summarise(report), "REFUSED", Verdict.PASS)) == ["good", "wrong"]


def test_tables_that_a_summary_has_no_room_for_are_missed_and_counted():
    report = report_of(
        *(TableReport.of_findings(f"{n:03d}", finding()) for n in range(120)), TableReport.of_findings("good")
    )
    with pytest.raises(CutSummaryError, match="100 of the 120 tables that are VIOLATED") as caught:
        violated_tables(summarise(report))
    assert caught.value.missing == 20
    assert all_tables_with(report, "VIOLATED") == [f"{n:03d}" for n in range(120)]


def test_tables_that_went_worse_are_all_there_though_the_summary_is_cut():
    report = report_of(
        *(TableReport.of_findings(str(n)) for n in range(300)), TableReport.of_findings("bad", finding())
    )
    assert summarise(report)["truncated"]
    assert violated_tables(summarise(report)) == ["bad"]


def test_what_is_cut_says_how_much_and_where_the_rest_is():
    report, place = many_tables(2000, 10), ReportPlace("s3://aws@b/r.json")
    found, summary = findings_of(report, place), summarise(report, ReportPlace(None, "no access"))
    assert len(json.dumps(found).encode()) <= MAX_BYTES
    assert found["omitted"] == 1600 - len(found["findings"])
    assert found["report_path"] == "s3://aws@b/r.json"
    assert (summary["report_path"], summary["report_error"]) == (None, "no access")
    assert "report_path" not in findings_of(many_tables(10, 10), place)


def planned(name: str, steps: int) -> TableReport:
    plan = {
        "digest": "d" * 64,
        "commits": steps,
        "steps": [{"sql": f"ALTER TABLE {n} " + "x" * 100, "explanation": "e"} for n in range(steps)],
        "notes": ["rewrites 3 files (1.2 GB)"],
    }
    return TableReport.of_findings(name, version=4, plan=plan, protocol_before={"v": 1}, protocol_after={"v": 2})


def test_summary_of_a_dry_run_has_the_plan_and_that_of_nothing_to_do_an_empty_one():
    report = report_of(planned("a", 2), planned("b", 0))
    summary = summarise(report, dry_run=True)
    assert summary["dry_run"]
    assert [len(row["plan"]["steps"]) for row in summary["tables"]] == [2, 0]
    assert summary["tables"][0]["plan"] == report.tables[0].plan
    assert summary["tables"][0]["protocol_after"] == {"v": 2}
    assert "plan" not in summarise(report)["tables"][0]


def test_plans_that_are_too_long_lose_their_steps_before_any_table_is_left_out():
    summary = summarise(report_of(*(planned(str(n), 40) for n in range(60)), planned("short", 1)), dry_run=True)
    assert len(json.dumps(summary).encode()) <= MAX_BYTES
    assert len(summary["tables"]) == 61
    assert {row["plan"]["digest"] for row in summary["tables"]} == {"d" * 64}
    cut = [row["table"] for row in summary["tables"] if row["plan"].get("truncated")]
    assert cut
    assert "short" not in cut


def test_findings_carry_their_table_and_the_worst_table_comes_first():
    report = report_of(
        TableReport.of_findings("b", finding("x")), TableReport("a", Verdict.FAULT, findings=(finding("y"),))
    )
    assert [(row["table"], row["message"]) for row in findings_of(report)["findings"]] == [("a", "y"), ("b", "x")]


# -- text -----------------------------------------------------------------------------------------


def test_text_shows_versions_steps_times_and_wrapped_findings():
    table = TableReport.of_findings(
        "/lake/t",
        finding("word " * 60 + "\n- second paragraph", column="a", version=4),
        version=5,
        version_before=3,
        changed=True,
        plan={"steps": [{"explanation": "set x=y (1 commit)"}]},
        timings={"read": 0.04, "apply": 1.26, "verify": 0.6},
    )
    lines = render_log(report_of(table)).splitlines()
    assert lines[:5] == [
        "VIOLATED  /lake/t  version 3 -> 5",
        "    set x=y (1 commit)",
        "    time: apply 1.3 s, verify 0.6 s",
        f"    RT05 ERROR  {RULES['RT05'].title}",
        "        version 4 · column a",
    ]
    assert lines[-1] == "        - second paragraph"
    assert max(map(len, lines)) <= 108


def test_text_of_an_unchanged_table_says_so_and_one_never_read_has_no_version():
    planned = TableReport.of_findings("p", version=2, plan={"steps": []})
    assert render_log(report_of(planned)) == "PASS  p  version 2, nothing changed"
    lines = render_log(
        report_of(TableReport.of_findings("a", version=0), TableReport.refused("b", finding()))
    ).splitlines()
    assert "PASS  a  version 0" in lines
    assert lines[0] == "REFUSED  b"


def test_text_of_many_tables_counts_those_it_does_not_list():
    lines = render_log(report_of(*(TableReport.of_findings(str(n), version=1) for n in range(60)))).splitlines()
    assert len(lines) == 51
    assert lines[-1] == "… and 10 more tables, none worse"


def test_text_names_every_table_with_findings_and_their_codes():
    broken = [TableReport.of_findings(f"/lake/t{n:03d}", finding(), finding(), version=n) for n in range(120)]
    warned = TableReport.of_findings("/lake/w", replace(finding(), severity=Severity.WARNING), version=1)
    sound = [TableReport.of_findings(f"/lake/s{n}") for n in range(7)]
    lines = render_log(report_of(*broken, warned, *sound), ReportPlace("s3://aws@b/r.json")).splitlines()
    assert all(any(table.table in line for line in lines) for table in (*broken, warned))
    assert "VIOLATED  /lake/t119  version 119: RT05 ×2" in lines
    assert lines[-2:] == ["… and 7 more tables, none worse", "The whole report: s3://b/r.json"]


def test_text_says_that_the_report_could_not_be_kept():
    assert render_log(report_of(), ReportPlace(None, "PermissionError: no")).endswith(
        "The whole report could not be kept (PermissionError: no)."
    )


def test_text_of_many_findings_counts_those_it_does_not_list():
    text = render_log(report_of(TableReport.of_findings("t", *(finding(str(n)) for n in range(25)))))
    assert text.endswith("… and 5 more findings: RT05 ×5")
    assert os.linesep + os.linesep not in text


def test_what_a_level_does_not_look_at_is_said_once() -> None:
    tables = [
        TableReport.of_findings(str(n), version=1, evidence={"not_checked": not_checked("log")}) for n in range(60)
    ]
    text = render_log(report_of(*tables))
    assert text.count("Not checked: that data files exist") == 1
    assert text.splitlines()[-1].endswith("(level data).")
    assert not_checked("data") == []


def test_open_findings_come_first_and_errors_before_others():
    severities = (Severity.WARNING, Severity.UNDECIDED, Severity.ERROR)
    found = [Finding("RT05", severity, "m", healed_version=healed) for healed in (3, None) for severity in severities]

    listed = TableReport.of_findings("t", *found).findings

    assert [finding.severity for finding in listed] == [*reversed(severities)] * 2
    assert [finding.is_open for finding in listed] == [True] * 3 + [False] * 3


def test_columns_of_the_table_of_findings_are_described() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guides" / "findings-table.md").read_text(encoding="utf-8")
    rows = [f"| `{each.name}` | {each.type} | {each.record or 'both'} | {each.about} |" for each in COLUMNS]
    assert "\n".join(rows) in guide
