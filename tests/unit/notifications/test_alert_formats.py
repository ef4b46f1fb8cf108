from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable
from datetime import date
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from airflow_delta_provider.domain.audit.waivers import Waivers
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.document import Prose
from airflow_delta_provider.domain.report.report import Finding, ReportPlace, Severity, TableReport, Verdict
from airflow_delta_provider.domain.text import visible
from airflow_delta_provider.notifications import html as html_format
from airflow_delta_provider.notifications import slack
from airflow_delta_provider.notifications.alert import Alert, Item, News, Origin, worst_first
from airflow_delta_provider.notifications.alert_document import MAX_MESSAGE, as_markdown, as_text, section

ORIGIN = Origin("nightly", "audit", "manual__1", try_number=2, log_url="https://airflow/log?a=1&b=2")
NASTY = st.text(st.sampled_from("ab1 \n`*_[]()<>&#|~\"'\\{}$@!-+.:/"), min_size=1, max_size=60)


def item(message: str = "RESTORE it.", news: News = News.NEW, table: str = "/lake/t", **known: object) -> Item:
    told = {"code": "RT08", "severity": Severity.ERROR, "version": 7, "writer": "Delta Spark 4.4.0", **known}
    return Item(table, Finding(message=message, **told), news)


def alert(*items: Item, **known: object) -> Alert:
    return Alert(ORIGIN, **{"verdict": "VIOLATED", "items": worst_first(items), **known})


class Reader(HTMLParser):
    """Collects what a mail program would show, and the tags."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.shown = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.shown += "\n" if tag == "br" else ""

    def handle_data(self, data: str) -> None:
        self.shown += data


def read_html(source: str) -> Reader:
    reader = Reader()
    reader.feed(source)
    reader.close()
    return reader


def words(source: str) -> str:
    return " ".join(source.split())


def test_text_names_table_rule_version_engine_and_what_to_do() -> None:
    first = item(
        "Rows share ids.\nRESTORE the table to version 6.",
        at_or_before=True,
        operation="MERGE",
        user="alice",
        timestamp="2026-01-02T03:04:05+00:00",
        fingerprint="f",
    )
    follows = [item("x", code="RT09", caused_by="f", path=path) for path in ("a", "b")]
    gone = item("Was broken.", News.RESOLVED, code="RT05", healed_version=9)
    assert as_text(alert(first, *follows, gone, unchanged=3)) == "\n".join(
        [
            "Delta VIOLATED: 1 new, 1 resolved in nightly.audit",
            "Task nightly.audit, run manual__1, try 2",
            "",
            f"NEW ERROR RT08 {first.title}",
            "    table: /lake/t",
            "    version: 7 or before",
            "    operation: MERGE",
            "    writer: Delta Spark 4.4.0",
            "    user: alice",
            "    time: 2026-01-02T03:04:05+00:00",
            "    led to: 2 more: RT09",
            "    Rows share ids.",
            "    RESTORE the table to version 6.",
            "",
            f"RESOLVED ERROR RT05 {gone.title}",
            "    table: /lake/t",
            "    version: 7",
            "    writer: Delta Spark 4.4.0",
            "    fixed in version: 9",
            "    Was broken.",
            "",
            "3 more findings are unchanged and not repeated here.",
            "",
            "Log: https://airflow/log?a=1&b=2",
        ]
    )


def test_worst_come_first_and_the_others_are_named() -> None:
    items = [
        item(severity=Severity.WARNING),
        item(news=News.RESOLVED, code="RT01"),
        item(severity=Severity.UNDECIDED),
        item(news=News.REMINDER, code="RT02"),
        item(code="RT03", table="/lake/u"),
        item(code="RT04"),
    ]
    told = alert(*items, limit=4)
    assert [(i.finding.code, i.finding.severity.value) for i in told.shown] == [
        ("RT04", "ERROR"),
        ("RT03", "ERROR"),
        ("RT02", "ERROR"),
        ("RT08", "UNDECIDED"),
    ]
    for written in (as_text(told), as_markdown(told), html_format.render(told), json.dumps(slack.render(told))):
        read = written.replace("\\", "")
        assert "NEW WARNING RT08" in read
        assert "RESOLVED ERROR RT01" in read
        assert read.count("RESTORE it.") == 4
    assert told.subject == "Delta VIOLATED: 4 new, 1 reminder, 1 resolved in nightly.audit"


def fleet(tables: int = 120) -> list[Item]:
    """One rule broken in many tables, each in its own way, and another one in one of them."""
    many = (
        item(
            evidence=f"Row ids up to {n * 100} were assigned before this commit.",
            remedy="RESTORE the table to the version before.",
            table=f"/lake/sales/t{n:03d}",
            version=n,
            operation="MERGE",
            user="alice",
            timestamp=f"2026-01-02T03:04:{n % 60:02d}+00:00",
        )
        for n in range(tables)
    )
    return [*many, item("Pointer.", code="LG07", table="/lake/sales/t007")]


WRITTEN = {
    "text": as_text,
    "markdown": lambda told: read_html(MarkdownIt("commonmark").render(as_markdown(told))).shown,
    "html": lambda told: read_html(html_format.render(told)).shown,
    "slack": lambda told: "\n".join(
        said["text"] for b in slack.render(told) for said in ([b["text"]] if "text" in b else b["elements"])
    ),
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_rule_that_many_tables_break_is_written_once_and_names_them_all(written: Callable[[Alert], str]) -> None:
    items = fleet()
    rule = RULES["RT08"]
    said = written(alert(*items))
    assert "120 findings in 120 tables" in said
    assert all(f"/lake/sales/t{n:03d}" in said for n in range(120))
    for once in (rule.title, "RESTORE the table to the version before.", "MERGE", "alice", "Pointer."):
        assert words(said).count(words(once)) == 1, once
    assert words(rule.effect) in words(said)
    assert words(said).count("Row ids up to") <= 20
    assert "LG07" in said


def test_what_all_findings_of_a_rule_have_in_common_is_said_once() -> None:
    said = {"evidence": "Ids overlap.", "remedy": "RESTORE it."}
    same = [item(table=f"/lake/t{n}", version=n, operation="MERGE", **said) for n in (1, 2)]
    lines = as_text(alert(*same)).splitlines()
    assert lines[3:] == [
        f"NEW ERROR RT08 {RULES['RT08'].title} (2 findings in 2 tables)",
        "    operation: MERGE",
        "    writer: Delta Spark 4.4.0",
        "    Ids overlap.",
        *(f"    {line}" for line in textwrap.wrap(f"Effect: {RULES['RT08'].effect}", 96)),
        "    Remedy: RESTORE it.",
        "    - /lake/t1  version 1",
        "    - /lake/t2  version 2",
        "",
        "Log: https://airflow/log?a=1&b=2",
    ]


def test_findings_of_one_rule_with_other_news_or_another_weight_are_told_apart() -> None:
    items = [item(), item(news=News.RESOLVED), item(severity=Severity.WARNING), item(table="/lake/u")]
    assert [len(group.items) for group in alert(*items).groups] == [2, 1, 1]


def test_one_finding_of_each_rule_is_written_out_before_the_second_of_any() -> None:
    told = alert(*fleet(30), limit=3)
    assert [i.finding.code for i in told.shown] == ["RT08", "RT08", "LG07"]


@pytest.mark.parametrize("place", [None, ReportPlace(None, "no access"), ReportPlace("s3://aws@b/r.json")])
def test_what_is_not_named_is_counted_and_told_only_where_the_report_is_kept(place: ReportPlace | None) -> None:
    told = alert(*fleet(1100), place=place)
    kept = place is not None and place.path is not None
    assert len(told.sent) == (1101 if kept else 1000)
    for name, written in WRITTEN.items():
        said = words(written(told))
        [rest] = re.findall(r"… and (\d+) more findings in \1 tables, none more severe: \1 ERROR \(RT08 ×\1\)\.", said)
        assert (int(rest) > 101) if name == "html" else (int(rest) == 101)
        assert ("The whole report: s3://b/r.json" in said) == kept
        assert ("could not be kept (no access)" in said) == (place is not None and not kept)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_alert_of_a_report_that_is_cut_says_how_much_is_missing(written: Callable[[Alert], str]) -> None:
    told = alert(item(), truncated=True, missing=86, place=ReportPlace(None, "no access"))
    assert told.subject == "Delta VIOLATED: 1 new, 86 cut off in nightly.audit"
    assert "This alert lacks 86 findings: the report is larger than an XCom may be" in words(written(told))
    assert "could not be kept (no access)" in words(written(told))


def test_alert_is_not_quiet_where_what_is_cut_may_be_news() -> None:
    assert not alert(truncated=True, missing=3).quiet
    assert alert().quiet


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_alert_says_that_a_waiver_has_expired(written: Callable[[Alert], str]) -> None:
    waiver = {"code": "MD03", "owner": "ann", "reason": "a pilot", "expires": "2026-05-31"}
    several = [RULES["MD03"].found("The commit has {n} metaData actions.", n=n, version=n) for n in (2, 3)]
    accepted = Waivers.parse([{**waiver, "table": "/lake/a"}]).apply(several, "/lake/a", date(2026, 6, 1))
    told = alert(*(Item("/lake/a", each, News.NEW) for each in accepted))
    assert "The waiver of ann expired on 2026-05-31." in words(written(told))


def test_failure_without_a_report_is_said_in_every_format() -> None:
    told = alert(verdict=None, failure="No report exists: <gone>")
    assert told.subject == "Delta NO REPORT: the task failed in nightly.audit"
    assert "No report exists: <gone>" in as_text(told)
    assert "No report exists: &lt;gone&gt;" in html_format.render(told)
    assert "No report exists: \\<gone\\>" in as_markdown(told)
    assert "No report exists: <gone>" in [block["text"].get("text") for block in slack.render(told) if "text" in block]


@given(NASTY, NASTY, NASTY)
def test_html_shows_everything_as_it_is_and_holds_no_tags_of_the_table(message: str, table: str, user: str) -> None:
    plain = read_html(html_format.render(alert(item("x", table="t", user="u"))))
    read = read_html(html_format.render(alert(item(message, table=table, user=user))))
    assert [tag for tag in read.tags if tag != "br"] == plain.tags
    for said in (*message.splitlines(), visible(table), f"user{visible(user)}"):
        assert words(said) in words(read.shown)


@given(NASTY.filter(str.strip), NASTY, NASTY)
def test_markdown_shows_everything_as_it_is_and_holds_no_markup_of_the_table(
    message: str, table: str, user: str
) -> None:
    render = MarkdownIt("commonmark").render
    plain = read_html(render(as_markdown(alert(item("x", table="t", user="u")))))
    read = read_html(render(as_markdown(alert(item(message, table=table, user=user)))))
    assert [tag for tag in read.tags if tag != "br"] == plain.tags
    for said in (message, visible(table), f"user: {visible(user)}"):
        assert words(said) in words(read.shown)


@given(st.integers(1, 200), NASTY, st.integers(1, 4000))
def test_slack_blocks_stay_within_what_slack_takes(findings: int, nasty: str, length: int) -> None:
    long = (nasty * length)[:length]
    items = [item(long, table=long, column=long, path=long, user=long, operation=long)] * findings
    blocks = slack.render(alert(*items, failure=long, truncated=True, unchanged=1, limit=200))
    assert len(blocks) <= slack.MAX_BLOCKS
    assert len(json.dumps(blocks, ensure_ascii=False)) <= 12_000
    assert json.loads(json.dumps(blocks)) == blocks
    for block in blocks:
        for told in [block["text"]] if "text" in block else block["elements"]:
            limit = slack.MAX_HEADER if block["type"] == "header" else slack.MAX_TEXT
            assert 1 <= len(told["text"]) <= limit


def test_slack_counts_the_findings_that_it_has_no_room_for() -> None:
    blocks = slack.render(alert(*(item(code=f"RT{n}", table="t" * 300) for n in range(10, 99)), limit=60))
    shown = [block for block in blocks if block["type"] == "section" and "NEW ERROR RT" in str(block)]
    (rest,) = (
        re.search(r"and (\d+) more findings that", str(block)) for block in blocks if "no room for" in str(block)
    )
    assert rest is not None
    assert len(shown) + int(rest[1]) == 89


@pytest.mark.parametrize("said", ["<!channel>", "<https://evil|click>", "&lt;!here&gt;"])
def test_nothing_of_a_table_mentions_or_links_in_slack(said: str) -> None:
    blocks = slack.render(alert(item(table=said, user=said)))
    formatted = [block["text"]["text"] for block in blocks if block.get("text", {}).get("type") == "mrkdwn"]
    findings, log = formatted
    assert "<" not in findings
    assert html.unescape(findings).count(said) == 2
    assert log == "<https://airflow/log?a=1&b=2|Log>"


@pytest.mark.parametrize("name", ["/lake/bad_partition_lost", "/lake/*a* ~b~", "/lake/a`b_c`", "/lake/plain"])
def test_name_can_be_copied_from_slack_and_formats_nothing(name: str) -> None:
    items = [item("x", table=name, path=name), *(item(f"{name} is", table=f"{name}{n}", code="RT01") for n in range(2))]
    blocks = slack.render(alert(*items))
    assert "\u200b" not in json.dumps(blocks, ensure_ascii=False)
    texts = [block["text"] for block in blocks if "text" in block]
    assert any(f"file: {name}" in text["text"].replace(f"`{name}`", name) for text in texts)
    for said in texts:
        if said["type"] == "mrkdwn" and name in said["text"]:
            assert f"`{name}`" in said["text"] or not re.search("[*_~`]", name)


def test_subject_names_violated_tables_first_if_the_verdict_is_worse() -> None:
    verdicts = {"/a": Verdict.VIOLATED, "/b": Verdict.REFUSED, "/c": Verdict.VIOLATED, "/d": Verdict.PASS}
    reports = {name: TableReport(name, verdict) for name, verdict in verdicts.items()}
    told = alert(item(), verdict="REFUSED", reports=reports)
    assert told.subject == "Delta REFUSED: 2 tables VIOLATED, 1 new in nightly.audit"
    assert alert(item(), reports=reports).subject == "Delta VIOLATED: 1 new in nightly.audit"


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("tables", [1, 2])
def test_refused_table_is_named_once(written: Callable[[Alert], str], tables: int) -> None:
    names = [f"/lake/t{n}" for n in range(tables)]
    found = [RULES["RQ02"].found("{table} is not a Delta table.", table=name) for name in names]
    said = written(alert(*(Item(name, each, News.NEW) for name, each in zip(names, found))))
    assert [said.count(name) for name in names] == [1] * tables


def paragraphs(found: Item) -> list[str]:
    [group] = alert(found).groups
    return [block.line for block in section(group).blocks if isinstance(block, Prose)]


def test_long_message_is_shortened_and_still_says_what_to_do() -> None:
    said, remedy = paragraphs(item("x" * 10_000))
    assert len(said) == MAX_MESSAGE
    assert said.endswith("…")
    assert remedy == f"Remedy: {RULES['RT08'].remedy}"
    assert paragraphs(item("y" * MAX_MESSAGE)) == ["y" * MAX_MESSAGE]


@pytest.mark.parametrize("known", [{"severity": Severity.WARNING}, {"code": "XX99"}])
def test_remedy_of_the_rule_is_left_out_where_it_may_not_fit(known: dict[str, object]) -> None:
    assert len(paragraphs(item("x" * 10_000, **known))) == 1


ONE_TABLE, EACH_TABLE, EACH_RULE = (
    [
        item(
            evidence=f"The file part-{n}.parquet is wrong. See the log of the writer.",
            code=code,
            severity=RULES[code].severity,
            table=table.format(n),
            version=n,
            path=f"part-{n:05d}-4f2c8d51-6b0e-4c39-9d35-7a1f0c8e2b64-c000.snappy.parquet",
        )
        for n in range(1000)
        for code in [codes[n % len(codes)]]
    ]
    for table, codes in (
        ("s3a://lake/sales/orders", ("LG27", "RT08", "MD03")),
        ("s3a://lake/sales/orders_{:05d}", ("RT08",)),
        ("s3a://lake/sales/orders_{:05d}", sorted(RULES)),
    )
)
LIMITS: dict[str, tuple[Callable[[Alert], str], int]] = {
    "text": (as_text, 100_000),
    "markdown": (as_markdown, 100_000),
    "html": (html_format.render, 100_000),
    "slack": (lambda told: json.dumps(slack.render(told), ensure_ascii=False), 12_000),
    "short text": (lambda told: as_text(told, 2000), 2000),
    "short markdown": (lambda told: as_markdown(told, 4096), 4096),
}


@pytest.mark.parametrize("items", [ONE_TABLE, EACH_TABLE, EACH_RULE], ids=["one table", "each table", "each rule"])
@pytest.mark.parametrize(("render", "limit"), LIMITS.values(), ids=LIMITS)
def test_thousand_findings_fit_and_those_that_are_not_named_are_counted(
    items: list[Item], render: Callable[[Alert], str], limit: int
) -> None:
    told = alert(*items, place=ReportPlace("s3://b/r.json"))
    said = render(told)
    assert len(said.encode()) <= limit
    read = read_html(said).shown if said.startswith("<div") else re.sub(r"[\\`*]", "", said)
    named = len(set(re.findall(r"version ?:? ?(\d+)", read)))
    [rest] = re.findall(r"and (\d+) more finding", read) or ["0"]
    assert named + int(rest) == 1000
    assert "s3://b/r.json" in read
    assert "https://airflow/log" in said
    order = [read.index(f"{severity} ") for severity in ("ERROR", "WARNING") if f"NEW {severity} " in read]
    assert order == sorted(order)
    if rest != "0":
        counted_ones = re.findall(r"([\d,]+) (ERROR|UNDECIDED|WARNING) \(", read)
        assert sum(int(number.replace(",", "")) for number, _ in counted_ones) == int(rest)


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
def test_no_message_ends_within_a_sentence(written: Callable[[Alert], str]) -> None:
    sentences = " ".join(f"Sentence {n} of a long message ends here." for n in range(300))
    said = words(written(alert(*(item(evidence=sentences, version=n, remedy=sentences) for n in range(5)))))
    ends = re.findall(r"(\S+ \S+) …", said)
    assert ends
    assert set(ends) == {"ends here."}


def test_alert_that_fits_nowhere_still_says_how_many_findings_there_are() -> None:
    said = as_text(alert(*ONE_TABLE), 1)
    rest = "666 ERROR (RT08 ×333, MD03 ×333), 334 WARNING (LG27 ×334)"
    assert f"… and 1,000 more findings in 1 table, none more severe: {rest}." in said
    assert "orders" not in said


def test_slack_message_without_room_for_messages_has_none_of_them() -> None:
    blocks = json.dumps(slack.render(alert(*EACH_TABLE)), ensure_ascii=False)
    assert "orders_00050" in blocks
    assert "is wrong" not in blocks
