"""What Airflow's UI shows: the report of a task, what is known of a rule, and the list of tables."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.page import render
from airflow_delta_provider.domain.rendering.ui_pages import (
    ListExtent,
    Search,
    message_page,
    report_href,
    rule_page,
    tables_page,
    task_page,
)
from airflow_delta_provider.domain.report.pages import Excerpt, LatestResult, Origin, TableRow
from airflow_delta_provider.domain.report.report import Finding, TableReport, Verdict
from tests.unit.rendering.reports import NASTY, nasty_findings, of_everything, report_of, sound, violated
from tests.unit.rendering.test_html_page import Page

AT = datetime(2026, 1, 2, 3, 4, tzinfo=timezone.utc)
KINDS = ("created", "protocol", "added", "widened", "renamed", "dropped", "changed")

events = st.fixed_dictionaries(
    {"version": st.integers(0, 99), "kind": st.sampled_from(KINDS), "text": NASTY},
    optional={"operation": NASTY, "writer": NASTY, "timestamp": NASTY},
)
protocols = st.fixed_dictionaries(
    {"minReaderVersion": st.integers(1, 9), "minWriterVersion": st.integers(1, 9)},
    optional={"writerFeatures": st.lists(NASTY, max_size=3)},
)
histories = st.fixed_dictionaries(
    {
        "protocol": protocols,
        "features": st.dictionaries(NASTY, NASTY, max_size=3),
        "events": st.lists(events, max_size=5).map(lambda found: sorted(found, key=lambda event: event["version"])),
        "omitted": st.integers(0, 9),
    }
)
steps = st.fixed_dictionaries(
    {"sql": st.none() | NASTY, "explanation": NASTY},
    optional={
        "step": st.integers(1, 3),
        "undo": NASTY,
        "breaks": st.lists(NASTY, max_size=2),
        "metadata_only": st.booleans(),
    },
)
wire_findings = st.lists(nasty_findings.map(Finding.to_json), max_size=2)
plans = st.fixed_dictionaries(
    {"digest": NASTY, "commits": st.integers(0, 9), "steps": st.lists(steps, max_size=4), "notes": st.lists(NASTY)},
    optional={
        "diff": st.lists(NASTY, max_size=4),
        "lint": wire_findings,
        "locked_out": wire_findings,
        "permissions": st.lists(NASTY, max_size=2),
        "approval": st.lists(NASTY, max_size=2),
    },
)
planned = st.builds(
    lambda table, history, plan, before, after: replace(
        table, history=history, plan=plan, protocol_before=before, protocol_after=after
    ),
    st.builds(lambda name: sound(name), NASTY),
    st.none() | histories,
    st.none() | plans,
    st.none() | protocols,
    st.none() | protocols,
)


@settings(max_examples=100, deadline=None)
@given(st.lists(planned, max_size=2))
def test_nothing_that_a_table_or_a_plan_says_becomes_markup(tables: list[TableReport]) -> None:
    report = report_of(*tables)
    pages = (Page(task_page(Excerpt.of(report), rules="r", tables="t").html), Page(render(report)))
    for page in pages:
        tags = {tag for tag, _ in page.tags}
        assert "img" not in tags
        assert not any(name.startswith("on") or name == "style" for _, known in page.tags for name in known)
    assert [len(page.scripts) for page in pages] == [1, 0]


def test_timeline_tells_events_and_findings_in_one_picture_and_in_a_table() -> None:
    told = [
        {"version": 1, "kind": "protocol", "text": "adds typeWidening", "operation": "SET TBLPROPERTIES"},
        {"version": 2, "kind": "widened", "text": "widens a from int to bigint", "timestamp": "2026-01-02"},
    ]
    history = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}, "features": {"x": "enabled"}, "omitted": 1}
    page = Page(render(report_of(violated("/lake/t", history={**history, "events": told}))))
    [picture] = [known for known in page.attributes("svg") if known.get("role") == "img"]
    assert picture["aria-label"] == (
        "Versions 1 to 5: version 1 adds typeWidening; version 2 widens a from int to bigint; MD03 since version 3"
    )
    for said in ("Protocol: ◇ changed", "Columns: ↔ widened", "2 changes of protocol and columns", "without 1 older"):
        assert said in page.text
    heads = [known.get("scope") for known in page.attributes("th")]
    assert heads.count("row") == 3
    assert len(page.attributes("caption")) == 2


def test_timeline_of_a_change_begins_with_the_version_that_it_was_planned_on() -> None:
    told = [{"version": 5, "kind": "widened", "text": "widens a from int to bigint"}]
    history = {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7}, "features": {}, "events": told, "omitted": 0}
    page = Page(render(report_of(sound(changed=True, version_before=4, history=history), kind="widen-types")))
    [picture] = [known for known in page.attributes("svg") if known.get("role") == "img"]
    assert picture["aria-label"] == "Versions 4 to 5: version 5 widens a from int to bigint"


def test_plan_does_not_change_what_the_table_is() -> None:
    before = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    after = {"minReaderVersion": 3, "minWriterVersion": 7, "writerFeatures": ["rowTracking", "typeWidening"]}
    protocols = {"protocol_before": before, "protocol_after": after}
    planned = Page(render(report_of(sound(**protocols)))).text
    assert "Protocol at version 5: reader version 1, writer version 7, 1 feature" in planned
    assert "The plan leads to reader version 3, writer version 7, with typeWidening." in planned
    done = Page(render(report_of(sound(**protocols, changed=True, version_before=4)))).text
    assert "Protocol at version 5: reader version 3, writer version 7, 2 features" in done
    assert "The plan leads to" not in done


def test_excerpt_counts_all_tables_and_says_what_it_lacks() -> None:
    excerpt = replace(Excerpt.of(of_everything(), dry_run=True), left_out=("4 tables",))
    excerpt = replace(excerpt, counts={Verdict.PASS: 7000, Verdict.FAULT: 1})
    page = Page(task_page(excerpt, rules="r", tables="t").html)
    for said in ("7,001", "7,000", "There is no room here for: 4 tables.", "Planned only", "Tables (7,001)"):
        assert said in page.text


def test_rule_has_a_page_of_its_own() -> None:
    for code, rule in RULES.items():
        page = rule_page(code)
        assert page is not None
        assert rule.title in Page(page.html).text
        assert rule.remedy in Page(page.html).text
    assert rule_page("ZZ99") is None


def result(table: str = "/lake/t", dag_id: str = "d", verdict: Verdict = Verdict.PASS) -> LatestResult:
    return LatestResult(TableRow(table, verdict, 3), Origin(dag_id, "r+1", "t", -1, AT), "audit", AT)


@settings(max_examples=100, deadline=None)
@given(NASTY, NASTY, NASTY, st.sampled_from(Verdict))
def test_names_in_the_list_are_text(table: str, dag_id: str, words: str, verdict: Verdict) -> None:
    page = Page(tables_page([result(table, dag_id.replace("\ud800", ""), verdict)], Search(words), ListExtent(30)).html)
    assert len(page.scripts) == 1
    assert [known["name"] for known in page.attributes("input")] == ["q"]


def test_path_in_the_list_breaks_after_slashes_only() -> None:
    page = tables_page([result("s3://lake/sales_2026/orders")], Search(), ListExtent(30)).html
    assert ">s3://<wbr>lake/<wbr>sales_2026/<wbr>orders</a>" in page


def test_verdict_of_a_plan_is_not_taken_for_that_of_the_table() -> None:
    planned = replace(result("/lake/planned", verdict=Verdict.VIOLATED), kind="plan-migration")
    text = " ".join(Page(tables_page([planned, result("/lake/audited")], Search(), ListExtent(30)).html).text.split())
    assert text.count("VIOLATED (plan)") == 1
    assert "PASS (plan)" not in text


def test_list_explains_or_before() -> None:
    assert (
        "“Or before” means that no other verdict is known"
        in Page(tables_page([result()], Search(), ListExtent(30)).html).text
    )
    assert "Or before" not in tables_page([], Search(), ListExtent(30)).html


def test_list_is_sorted_from_the_worst() -> None:
    results = [result("/good"), result("/bad", verdict=Verdict.VIOLATED)]
    text = Page(tables_page(results, Search(), ListExtent(30)).html).text
    assert text.index("/bad") < text.index("/good")


@pytest.mark.parametrize(
    ("search", "fits"),
    [
        (Search("LAKE d"), True),
        (Search("lake nowhere"), False),
        (Search(verdict=Verdict.PASS), True),
        (Search(verdict=Verdict.FAULT), False),
        (Search(kind="audit"), True),
        (Search(kind="detail"), False),
    ],
)
def test_search_looks_at_names_verdict_and_job(search: Search, fits: bool) -> None:
    assert search.fits(result()) is fits


def test_address_of_a_report_names_the_task_whatever_its_ids_are() -> None:
    href = report_href(Origin("a/b", "manual__1+00:00?#", "g.t", 4, AT))
    assert href == "dags/a%2Fb/runs/manual__1%2B00%3A00%3F%23/tasks/g.t?map_index=4"
    assert unquote(href.split("/")[3]) == "manual__1+00:00?#"


def test_empty_list_and_messages_are_pages() -> None:
    assert "No task of the last 30 days" in Page(tables_page([], Search(), ListExtent(30)).html).text
    assert "<b>" in Page(message_page("T", "<b>", links=(("w", "h"),)).html).text
