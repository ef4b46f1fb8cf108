"""The plan of a migration, as lines and as Markdown for those who approve it."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.checks.compatibility import READ_LOCKED, SILENT_WRONG_RESULTS
from airflow_delta_provider.domain.rendering.document import text_lines
from airflow_delta_provider.domain.rendering.markdown import render, render_plan
from airflow_delta_provider.domain.rendering.report_blocks import answer_document, plan_document
from airflow_delta_provider.domain.report.report import JobReport, TableReport
from tests.unit.migrations.declared import col, planned
from tests.unit.migrations.test_planner import by_name


def plan(*columns: Any, **known: Any) -> dict[str, Any]:
    found = planned(by_name(), *columns, **known).plan
    assert found is not None
    return found.to_json()


def plan_lines(wire: dict[str, Any]) -> list[str]:
    return list(text_lines(plan_document(wire, much=False), 100, 4))


def test_lines_number_what_is_done_at_once() -> None:
    wire = plan(col("id", comment="x"), drop=(("name",),), constraints={"c": "id > 0"})
    lines = plan_lines(wire)
    assert lines[:20] == [
        "    1. set delta.feature.checkConstraints=supported, which enables checkConstraints (1 commit)",
        "    2. set the comment of id to 'x' (1 commit)",
        "    3. add the CHECK constraint c (id > 0), after all rows were checked (1 commit) — reads all rows,",
        "       or writes files",
        "    4. drop name (1 commit)",
        "    what is declared:",
        "      -`id` bigint",
        "      +`id` bigint COMMENT 'x'",
        "       `qty` int COMMENT 'pieces'",
        "      -`name` string",
        "       `s` struct<`x`:int,`y`:string>",
        "       `lines` array<struct<`price`:double,`tax`:float>>",
        "      +CONSTRAINT c CHECK (id > 0)",
        "       PROPERTY delta.columnMapping.maxColumnId = '9'",
        "       PROPERTY delta.columnMapping.mode = 'name'",
        "       PROPERTY delta.enableTypeWidening = 'true'",
        "       FEATURE appendOnly",
        "      +FEATURE checkConstraints",
        "       FEATURE columnMapping",
        "       FEATURE invariants",
    ]
    assert lines[20] == "    what breaks:"
    assert "    to apply it, set: allow_protocol_upgrade" in lines


def test_several_changes_in_one_commit() -> None:
    lines = plan_lines(plan(col("id", comment="x"), drop=(("name",),)))
    assert lines[:3] == ["    1. in one commit:", "       - set the comment of id to 'x'", "       - drop name"]


def test_markdown_says_what_an_approver_has_to_know() -> None:
    text = render_plan(plan(col("id", comment="*x*"), drop=(("name",),)))
    for part in (
        "## Migration of `/lake/t`",
        "\n+`id` bigint COMMENT '*x*'\n",
        "1. in one commit:\n   - set the comment of id to '\\*x\\*'\n   - drop name\n\n~~~~diff\n-`id`",
        "### What breaks\n\n- Streams that read the table stop",
        "### How it is undone",
        "### SQL\n\n~~~~sql\nALTER TABLE",
    ):
        assert part in text


def test_markdown_of_a_plan_without_steps() -> None:
    assert render_plan(plan()) == "## Migration of `/lake/t`\n\nNothing to do: the table is what its spec says."


def test_markdown_has_a_limit_and_nothing_ends_the_block_of_the_diff() -> None:
    columns = [col(f"c{number}", "int", comment="~~~~ " * 90) for number in range(500)]
    text = render_plan(plan(*columns))
    assert len(text) < 65_000
    assert text.count("~~~~") in (2, 4)
    assert "more lines" in text


def test_a_report_in_markdown_has_steps_and_diff() -> None:
    wire = plan(col("id", comment="x"), drop=(("name",),))
    report = JobReport("plan-migration", "", "", (TableReport.of_findings("/lake/t", version=3, plan=wire),), {})
    text = render(report)
    assert (
        "`/lake/t`:\n\n1. in one commit:\n   - set the comment of id to 'x'\n   - drop name\n\n~~~~diff\n-`id` bigint"
        in text
    )


def test_those_who_approve_see_engines_that_misread_the_table_apart_from_those_that_are_locked_out() -> None:
    misread = SILENT_WRONG_RESULTS.found("Polars returns wrong rows.", subject="Polars").to_json()
    locked_out = READ_LOCKED.found("Hive is locked out.", subject="Hive").to_json()
    wire = plan(col("id", comment="x")) | {"locked_out": [locked_out, misread]}
    lines = [line.strip() for line in text_lines(plan_document(wire), 100, 4)]
    wrong = lines.index("who would misread or damage the table, without an error (1):")
    locked = lines.index("who is locked out, or may be (1):")
    assert wrong < locked
    assert "Polars returns wrong rows." in lines[wrong + 1]
    assert "Hive is locked out." in lines[locked + 1]


def test_known_engines_that_misread_a_table_come_first_and_are_named_so() -> None:
    known = {"read": ["Hive"], "write": ["Trino"], "misread": ["Polars 2.1.0"]}
    table = TableReport.of_findings("t", evidence={"known_lockouts": known})
    lines = [line.strip() for line in text_lines(answer_document(table, much=True), 100, 4)]
    assert [line for line in lines if line.startswith("known")] == [
        "known to misread such tables, without an error: Polars 2.1.0",
        "known not to read such tables: Hive",
        "known not to write such tables: Trino",
    ]
