from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from markdown_it import MarkdownIt
from markdown_it.token import Token

from airflow_delta_provider.domain.checks.registry import RULES as known
from airflow_delta_provider.domain.rendering.links import RuleLinks
from airflow_delta_provider.domain.rendering.markdown import MAX_BYTES, render
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.text import visible
from tests.unit.rendering.reports import (
    NASTY,
    found,
    nasty_reports,
    of_everything,
    report_of,
    sound,
    undecided,
    violated,
)

PARSER = MarkdownIt("commonmark").enable("table")
#: What the format is made of; anything else came out of a name or a message.
OURS = {"heading", "paragraph", "bullet_list", "list_item", "table", "thead", "tbody", "tr", "th", "td", "inline"}


def tokens(text: str) -> list[Token]:
    return [token for block in PARSER.parse(text) for token in (block, *(block.children or ()))]


def cells(text: str) -> list[str]:
    blocks = PARSER.parse(text)
    return [
        "".join(child.content for child in inline.children or ())
        for opening, inline in pairwise(blocks)
        if opening.type == "td_open"
    ]


def test_tables_that_did_not_pass_are_listed_the_worst_first() -> None:
    report = report_of(sound(), undecided(), violated())
    assert cells(render(report)) == ["VIOLATED", "/lake/t", "5", "MD03", "UNDETERMINED", "/lake/u", "5", "LG06"]


def test_rule_is_a_section_with_its_tables_and_its_link() -> None:
    shown_as = Presentation(rules=RuleLinks("https://docs.example.com/rules.html"))
    text = render(report_of(*(violated(f"/lake/t{n}") for n in range(12))), shown_as)
    assert text.count("### ERROR MD03") == 1
    assert "(12 tables)" in text.replace("\\", "")
    assert "* … and 2 more tables" in text
    assert "[About MD03](<https://docs.example.com/rules.html#md03>)" in text
    assert "](" not in render(report_of(violated()))


def test_all_is_well_in_two_lines() -> None:
    assert render(report_of(sound())) == "## Delta audit: PASS\n\n1 table · 1 pass · 4.1 s\n"


@given(nasty_reports)
def test_nothing_of_a_table_becomes_markup(report: JobReport) -> None:
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens(render(report))}
    assert kinds <= OURS | {"text", "text_special", "softbreak", "hardbreak", "code_inline"}


@given(NASTY)
def test_name_is_one_cell_and_reads_as_it_is(name: str) -> None:
    assert " ".join(cells(render(report_of(violated(name))))[1].split()) == " ".join(visible(name).split())


def test_answer_is_code_that_nothing_ends() -> None:
    planned = sound(plan={"steps": [{"explanation": "set a=`x`\n```\n# heading"}]})
    blocks = [token for token in tokens(render(report_of(planned))) if token.type == "code_block"]
    assert len(blocks) == 1
    assert "set a=`x`" in blocks[0].content


@pytest.mark.parametrize("name", ["t", "日本" * 400])
def test_what_there_is_no_room_for_is_counted(name: str) -> None:
    codes = [code for code in sorted(known) if not code.startswith(("RQ", "FT"))]
    report = report_of(
        *(violated(f"/lake/{name}{n}", *(found(code, "Wrong. " * 100) for code in codes)) for n in range(40))
    )
    text = render(report)
    assert len(text.encode()) <= MAX_BYTES
    assert "findings of other rules" in text
    assert "… and 10 more tables, none worse." in text


def test_everything_fits_together() -> None:
    text = render(of_everything())
    assert "Not counted: 1 fixed (MD07); 1 accepted (TF01)." in text.replace("\\", "")
