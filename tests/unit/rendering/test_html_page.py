from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.rendering.html import ENTRY, PART, SCRIPT, Markup, element, joined, lines, text
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.page import render
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace
from tests.unit.rendering.reports import (
    WAIVER,
    found,
    nasty_reports,
    of_everything,
    report_of,
    sound,
    violated,
)

VOID = {"meta", "input", "br", "wbr"}
#: What a paragraph, and a summary, cannot hold: a browser would end it there.
BLOCKS = {"p", "div", "ul", "li", "dl", "h1", "h2", "h3", "h4", "details", "pre", "section", "article", "figure"}


class Page(HTMLParser):
    """Reads a page strictly: what is opened is closed, in order, and blocks are where they may be."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []
        self.feed(source)
        self.close()
        assert self.open == []
        ids = [known["id"] for _, known in self.tags if "id" in known]
        assert len(ids) == len(set(ids)), "an id names one element"
        links = [known.get("href") or "" for tag, known in self.tags if tag == "a"]
        assert {link[1:] for link in links if link.startswith("#")} <= set(ids), "links lead somewhere"
        named = {known["aria-labelledby"] for _, known in self.tags if "aria-labelledby" in known}
        assert named <= set(ids)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        assert not ("p" in self.open and tag in BLOCKS), f"{tag} in a paragraph"
        assert not (tag == "li" and self.open[-1] not in ("ul", "ol"))
        assert not (self.open and self.open[-1] in ("ul", "ol") and tag != "li")
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("script", "style"):
            (self.scripts if self.open[-1] == "script" else self.styles).append(data)
        else:
            self._texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [known for name, known in self.tags if name == tag]


def many(number: int) -> JobReport:
    return report_of(*(violated(f"/lake/t{n}") for n in range(number)))


def test_page_needs_nothing_else() -> None:
    page = Page(render(many(6)))
    assert {"link", "img", "iframe", "object"} & {tag for tag, _ in page.tags} == set()
    assert not any(name in known for _, known in page.tags for name in ("src", "style", "srcset"))
    assert not any(name.startswith("on") for _, known in page.tags for name in known)
    assert all((known["href"] or "").startswith("#") for known in page.attributes("a"))
    assert "url(" not in page.styles[0]
    assert "@import" not in page.styles[0]


def test_policy_allows_the_own_style_sheet_and_script_only() -> None:
    page = Page(render(many(6)))
    [policy] = [known["content"] for known in page.attributes("meta") if "http-equiv" in known]
    assert policy is not None
    for name, [source] in (("style", page.styles), ("script", page.scripts)):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_few_tables_need_no_script() -> None:
    page = Page(render(many(5)))
    assert page.scripts == []
    assert page.attributes("form") == []


def test_findings_have_rule_commit_effect_and_remedy() -> None:
    finding = found(action='{"metaData":{"id":"<x>"}}', user="ann", column="a.b")
    page = Page(render(report_of(violated("/lake/t", finding))))
    rule = RULES["MD03"]
    for said in (rule.title, rule.effect, rule.remedy, "_delta_log/00000000000000000003.json", "ann", "a.b", "<x>"):
        assert said in page.text
    assert next(known.get("open", "") for known in page.attributes("details")) is None, "a single table is open"


def test_rule_is_said_once_with_links_to_its_tables_and_its_documentation() -> None:
    shown_as = Presentation(rules=RuleLinks("https://docs.example.com/rules.html"))
    page = Page(render(many(120), shown_as))
    links = [known["href"] for known in page.attributes("a")]
    assert "https://docs.example.com/rules.html#md03" in links
    assert links.count("#table-1") == 1
    assert "… and 20 more tables" in page.text


def test_worst_table_is_the_first() -> None:
    page = Page(render(of_everything()))
    verdicts = [known["data-verdict"] for known in page.attributes("li") if "data-verdict" in known]
    assert verdicts == ["FAULT", "REFUSED", "VIOLATED", "UNDETERMINED", "PASS", "PASS", "PASS"]


def test_timeline_shows_what_broke_a_rule_and_what_fixed_it() -> None:
    findings = found(), found("MD07", version=2, healed_version=4), found("MD08", version=1, at_or_before=True)
    page = Page(render(report_of(violated("/lake/t", *findings, evidence={"first_version": 0}))))
    [picture] = [known for known in page.attributes("svg") if known.get("role") == "img"]
    assert picture["aria-label"] == (
        "Versions 0 to 5: MD03 since version 3; MD08 since version 1 or before; MD07 in version 2, fixed in version 4"
    )
    assert [known.get("x1") for known in page.attributes("line") if known.get("class") == "before"] == ["0%"]
    marks = [known["x"] for known in page.attributes("svg") if "x" in known]
    assert marks == ["59.60%", "21.20%", "40.40%", "78.80%"]


@pytest.mark.parametrize("version", [0, 3, 10**12])
def test_timeline_of_any_length_has_few_numbers(version: int) -> None:
    page = Page(render(report_of(violated("t", found(version=version // 2), version=version))))
    axis = [known for known in page.attributes("text") if "text-anchor" in known]
    assert 1 <= len(axis) <= 6
    assert len(page.attributes("line")) < 100


def test_table_without_versions_has_no_timeline() -> None:
    assert Page(render(report_of(violated("t", found(version=None)), sound()))).attributes("svg") == []


def test_findings_that_do_not_count_are_folded() -> None:
    aside = found("MD07", healed_version=4), found("TF01", waiver=WAIVER)
    page = Page(render(report_of(violated("t", found(), *aside))))
    assert "Fixed, accepted or resolved (2)" in page.text
    assert "accepted by data-team until 2027-01-31: Known since the migration." in page.text
    assert "Not counted: 1 fixed (MD07); 1 accepted (TF01)." in page.text


def test_fixed_cause_of_an_open_finding_is_not_folded() -> None:
    cause, left = found("TF11", healed_version=4, fingerprint="c"), found("AC11", version=4, caused_by="c")
    page = Page(render(report_of(violated("t", cause, left))))
    assert "Fixed, accepted or resolved" not in page.text


@settings(max_examples=60)
@given(nasty_reports)
def test_nothing_of_a_table_becomes_markup(report: JobReport) -> None:
    source = render(report)
    page = Page(source)
    assert len(page.scripts) == 0
    assert len(page.styles) == 1
    assert all(line.isprintable() for line in source.split("\n"))


def test_column_that_looks_like_a_script_is_a_name() -> None:
    page = Page(render(report_of(violated("<script>alert(1)</script>", found(column="</style><script>")))))
    assert page.scripts == []
    assert "<script>alert(1)</script>" in page.text
    assert "</style><script>" in page.text


@pytest.mark.parametrize(("tables", "drawn"), [(30, True), (200, True), (201, False)])
def test_tables_are_drawn_at_once_unless_they_are_very_many(tables: int, drawn: bool) -> None:
    page = render(many(tables))
    listed = re.search(r'<ul class="(tables[^"]*)"', page)
    assert listed is not None
    left_blank = re.findall(r"^ *(\S+) > li {[^}]*content-visibility: auto", page, re.MULTILINE)
    assert left_blank == [".tables.many"]
    assert listed[1] == ("tables" if drawn else "tables many")


def later(source: str) -> tuple[list[str], str]:
    """Return the contents that the script shows when a table is opened, and the text that they are made from."""
    (text,) = re.findall(r'<script type="text/plain" id="later">(.*?)</script>', source, re.DOTALL)
    pieces, contents = (part.split(ENTRY) for part in text.split(PART))
    return ["".join(pieces[int(number, 16)] for number in content.split()) for content in contents], text


def test_content_of_very_many_tables_is_one_text_that_is_shown_when_a_table_is_opened() -> None:
    few, many_ = (
        report_of(*(violated(f"/lake/t{n}", found(evidence=f"Number {n}.")) for n in range(count)))
        for count in (200, 201)
    )
    source = render(many_)
    contents, text = later(source)
    assert [str(n) for n in range(201)] == re.findall(r'data-later="(\d+)"', source)
    assert all(f'class="body">{content}</div>' in render(few) for content in contents[:200])
    assert len(contents) == 201
    assert text.count(RULES["MD03"].effect) == 1, "what contents have in common is there once"
    assert "<article" not in source.replace(text, "")
    assert "Opening a table needs scripts" in source
    assert "later" not in render(few).replace(SCRIPT, "")


@settings(max_examples=20)
@given(nasty_reports)
def test_content_that_is_shown_later_is_that_of_a_small_page(report: JobReport) -> None:
    few = render(report)
    contents, _ = later(render(replace(report, tables=(*report.tables, *(sound(str(n)) for n in range(201))))))
    assert all(content in few for content in contents)


def test_few_tables_with_content_are_open_among_very_many() -> None:
    history = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    opened = render(report_of(violated("/lake/t", found()), *(sound(str(n), history=history) for n in range(300))))
    assert opened.count("<details open><summary><span") == 1
    assert '<details open><summary><span class="badge violated">' in opened
    assert len(later(opened)[0]) == 300


def test_rows_of_very_many_tables_are_a_text_to_browsers_with_scripts() -> None:
    source = render(many(450))
    [listed, left] = re.findall(r'<ul class="tables many" role="list">(.*?)</ul>', source, re.DOTALL)
    assert (listed.count("<li "), left.count("<li ")) == (200, 250)
    assert f'<noscript id="left"><ul class="tables many" role="list">{left}</ul></noscript>' in source
    assert all(line.startswith("<li id=") and line.endswith("</li>") for line in left.strip("\n").split("\n"))


def test_thousand_tables_are_bounded() -> None:
    findings = [found(code, "Wrong. " * 100, fingerprint=None) for code in sorted(RULES)[:30]]
    source = render(report_of(*(violated(f"/lake/t{n}", *findings) for n in range(1000))))
    contents, _ = later(source)
    assert sum(content.count("<article") for content in contents) == 3000
    assert "… and 10 more findings, which the report as JSON has:" in contents[149]
    assert "… and 30 findings, which the report as JSON has:" in contents[150]
    assert len(source) < 1_000_000


def test_of_very_many_tables_the_worst_have_a_row() -> None:
    page = Page(render(report_of(*(sound(f"s{n}") for n in range(10_000)), violated("/lake/t"))))
    assert "… and 1 more table, none worse" in page.text
    rows = [known["data-verdict"] for known in page.attributes("li") if "data-verdict" in known]
    assert (len(rows), rows[0]) == (10_000, "VIOLATED")


def test_table_without_a_row_is_named_without_a_link() -> None:
    tables = *(violated(f"/lake/t{n}", found("TF01")) for n in range(10_000)), violated("/lake/last")
    source = render(report_of(*tables))
    assert "<li>/lake/last</li>" in source
    assert source.count('href="#table-') == 100


def test_plan_and_place_are_shown() -> None:
    planned = sound(plan={"steps": [{"explanation": "set x=<y> (1 commit)"}]})
    page = Page(render(report_of(planned), Presentation(place=ReportPlace("s3://a@b/r.json"))))
    assert "set x=<y> (1 commit)" in page.text
    assert "The whole report: s3://b/r.json" in page.text


def test_report_without_tables_says_so() -> None:
    assert "The report has no tables." in Page(render(report_of())).text


def test_elements_escape_what_is_not_markup() -> None:
    assert element("p", "<b>", Markup("<i></i>"), class_='"x"', data_of=1) == (
        '<p class="&quot;x&quot;" data-of="1">&lt;b&gt;<i></i></p>'
    )
    assert element("input", hidden=True, name=None, open=False) == "<input hidden>"
    assert joined("&", ["<", Markup("<br>")]) == "&amp;&lt;<br>"
    assert lines("a\n\t<b>\x1b") == "a\n    &lt;b&gt;\\x1b"
    assert text("a\nb") == "a\\nb"


def test_text_is_readable_in_light_and_dark() -> None:
    """Contrast of at least 4.5 to 1, as WCAG 2.2 asks of text."""
    [style] = Page(render(report_of())).styles
    [light] = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    [by_system] = re.findall(r"not\(\[data-theme=light\]\) \{(.*?)\}", style, re.DOTALL)
    [by_choice] = re.findall(r"root\[data-theme=dark\] \{(.*?)\}", style, re.DOTALL)
    for theme in (light, by_system, by_choice):
        colors = dict(re.findall(r"--([a-z-]+): #([0-9a-f]{6})", theme))
        for ink, paper in (
            *((ink, paper) for ink in ("ink", "dim", "link", "bad", "doubt", "good") for paper in ("paper", "card")),
            *((word, f"{word}-paper") for word in ("bad", "doubt", "good")),
        ):
            assert _contrast(colors[ink], colors[paper]) >= 4.5, (ink, paper)


def _contrast(one: str, other: str) -> float:
    bright, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def _luminance(color: str) -> float:
    shares = [int(color[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
