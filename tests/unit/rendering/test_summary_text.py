from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from airflow_delta_provider.domain.rendering.presentation import ANSI, Detail, Presentation
from airflow_delta_provider.domain.rendering.report_document import took, totals
from airflow_delta_provider.domain.rendering.text import render
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace, Severity, Status, TableReport
from airflow_delta_provider.domain.text import columns, padded, visible
from tests.unit.rendering.reports import (
    WAIVER,
    faulty,
    found,
    nasty_reports,
    of_everything,
    refused,
    report_of,
    sound,
    undecided,
    violated,
)


def test_last_line_counts_tables_by_verdict_with_their_codes_and_the_time() -> None:
    tables = [*(sound(str(n)) for n in range(57)), *(violated(f"v{n}", found(), found()) for n in range(3))]
    assert render(report_of(*tables)).splitlines()[-1] == "60 tables · 57 pass · 3 violated (MD03 ×3) · 4.1 s"


def test_tables_are_listed_the_worst_last_and_in_columns() -> None:
    report = report_of(faulty("/lake/f"), violated("/lake/a-long-name"), undecided(), refused(), sound())
    rows = render(report).splitlines()[:5]
    assert [row.split()[0] for row in rows] == ["PASS", "UNDETERMINED", "VIOLATED", "REFUSED", "FAULT"]
    assert rows[1] == "UNDETERMINED  /lake/u            version 5  LG06"
    assert rows[2] == "VIOLATED      /lake/a-long-name  version 5  MD03"


def test_same_finding_of_several_tables_is_said_once_with_its_tables() -> None:
    text = render(report_of(*(violated(f"/lake/t{n:02d}") for n in range(25))))
    assert text.count("The commit has 2 metaData actions.") == 1
    assert "ERROR MD03" in text
    assert "(25 tables)" in text
    assert "    … and 15 more tables\n" in text
    assert text.count("delta-provider explain MD03") == 1


def test_version_is_said_once_of_a_single_finding_and_of_each_table_of_several() -> None:
    assert render(report_of(violated())).splitlines()[3:5] == [
        "    /lake/t",
        "        version 3 · WRITE by Delta Spark 3.2.0 · fingerprint ffffffffffffffff",
    ]
    lines = render(report_of(violated("a", found(), found(version=4)), violated("b"))).splitlines()
    assert lines[4:7] == [
        "    a  2 findings, the first in version 3",
        "    b  version 3",
        "        The first: version 3 · WRITE by Delta Spark 3.2.0 · fingerprint ffffffffffffffff",
    ]


def test_worst_finding_is_the_last_and_less_severe_ones_of_a_rule_are_by_themselves() -> None:
    tables = violated("/lake/a"), violated("/lake/b", found(severity=Severity.WARNING)), faulty()
    headings = re.findall(r"^(?:ERROR|WARNING) [A-Z]{2}\d\d", render(report_of(*tables)), re.MULTILINE)
    assert headings == ["WARNING MD03", "ERROR MD03", "ERROR FT01"]


def test_tables_with_nothing_to_say_are_listed_if_they_are_few_or_asked_for() -> None:
    few, many = report_of(*map(sound, "abc")), report_of(*(sound(f"/lake/s{n}") for n in range(11)))
    assert render(few).startswith("PASS  a  version 5\n")
    assert render(many).strip() == "11 tables · 11 pass · 4.1 s"
    assert render(many, Presentation(detail=Detail.MUCH)).count("PASS  ") == 11
    assert render(few, Presentation(detail=Detail.LITTLE)) == "3 tables · 3 pass · 4.1 s\n"


def test_table_that_passes_with_warnings_is_listed() -> None:
    warned = violated("/lake/w", found(severity=Severity.WARNING))
    text = render(report_of(warned, *(sound(str(n)) for n in range(20))))
    assert text.startswith("PASS  /lake/w  version 5  MD03\n")
    assert "21 pass (warnings: MD03)" in text


def test_findings_that_do_not_count_are_counted_by_reason() -> None:
    aside = (
        found("MD07", healed_version=4),
        found("TF01", waiver=WAIVER),
        found("MD08", status=Status.RESOLVED),
        found("MD07", healed_version=4),
    )
    text = render(report_of(violated("/lake/t", *aside)))
    assert "Not counted: 2 fixed (MD07 ×2); 1 accepted (TF01); 1 resolved (MD08)." in text
    assert text.startswith("PASS")


def test_what_is_new_is_said_of_jobs_that_remember() -> None:
    tables = [violated(str(n), found(status=Status.NEW if n else Status.KNOWN)) for n in range(3)]
    assert "(3 tables · 2 new · 1 known)" in render(report_of(*tables))


def test_consequence_is_said_with_its_cause_only() -> None:
    cause, effect = found(), found("MD07", caused_by="f" * 16, fingerprint="b" * 16)
    text = render(report_of(violated("t", cause, effect)))
    assert "Consequence: MD07." in text
    assert "ERROR MD07" not in text
    assert "1 violated (MD03)" in text


def test_plan_is_shown_under_its_table() -> None:
    planned = sound(plan={"steps": [{"explanation": "set x=y (1 commit)"}]})
    assert render(report_of(planned)).splitlines()[:2] == [
        "PASS  /lake/s  version 5, nothing changed",
        "    set x=y (1 commit)",
    ]


def test_of_many_tables_the_worst_are_listed() -> None:
    text = render(report_of(*(violated(f"/lake/t{n}") for n in range(60)), faulty()))
    assert text.startswith("… 11 more tables, none worse\nVIOLATED")
    assert "FAULT     /lake/f" in text


def test_place_of_the_report_is_said() -> None:
    assert "The whole report: s3://b/r.json" in render(report_of(), Presentation(place=ReportPlace("s3://a@b/r.json")))


def test_colours_are_there_on_request_only() -> None:
    assert "\x1b" not in render(of_everything())
    coloured = render(of_everything(), Presentation(style=ANSI))
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == render(of_everything())


@given(nasty_reports)
def test_nothing_of_a_table_moves_the_cursor_or_turns_text_around(report: JobReport) -> None:
    text = render(report, Presentation(detail=Detail.MUCH))
    assert all(line.isprintable() for line in text.split("\n"))


def test_name_with_a_line_break_stays_in_its_row() -> None:
    text = render(report_of(violated("a\nFAULT  b\x1b[2J\u202e")))
    assert r"VIOLATED  a\nFAULT  b\x1b[2J\u202e  version 5" in text


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_columns_of_a_terminal_are_counted(text: str, width: int) -> None:
    assert columns(text) == width
    assert columns(padded(text, 6)) == 6


def test_what_prints_stays_as_it_is() -> None:
    assert visible("Grüße 日本 😀") == "Grüße 日本 😀"
    assert visible("\ud800\x00\t") == r"\ud800\x00\t"


@pytest.mark.parametrize(
    ("finished", "said"),
    [
        ("2026-01-02T03:04:05Z", "0.0 s"),
        ("2026-01-02T03:06:10.000+00:00", "2 min 5 s"),
        ("2026-01-02T06:05:10.000+00:00", "3 h 1 min"),
        ("2026-01-02T03:04:00.000+00:00", ""),
        ("no time", ""),
    ],
)
def test_duration_is_said_where_it_is_known(finished: str, said: str) -> None:
    assert took(replace(report_of(), finished_at=finished)) == said


def test_changed_tables_are_counted() -> None:
    changed = TableReport.of_findings("t", version=2, version_before=1, changed=True)
    assert totals(report_of(changed, kind="enable-feature")) == ("1 table", "1 pass", "1 changed", "4.1 s")


def test_causes_of_one_table_are_all_shown_with_what_they_share_once() -> None:
    causes = [found("CP01", f"{n} cannot read t.", version=None, subject=n) for n in ("DuckDB", "Trino")]
    text = render(report_of(violated("t", *causes)))
    assert "(2 in 1 table)" in text
    assert "    t  2 findings\n" in text
    assert [text.count(sentence) for sentence in ("DuckDB cannot read t.", "Trino cannot read t.")] == [1, 1]
    assert text.count("The engine refuses the table") == 1
    assert text.index("Trino cannot") < text.index("The engine refuses the table")


def test_effects_of_their_own_stay_with_their_findings_and_many_are_counted() -> None:
    causes = [found("CP01", f"E{n}.", subject=str(n), effect=f"Effect {n}.") for n in range(12)]
    text = render(report_of(violated("t", *causes)))
    assert text.index("E1.") < text.index("Effect 1.") < text.index("E2.")
    assert "… and 2 more findings" in text
    assert "Effect 11." in render(report_of(violated("t", *causes)), Presentation(detail=Detail.MUCH))


def test_engines_that_read_the_same_rows_are_named() -> None:
    known = {"outcome": "read", "rows": 3, "message": ""}
    tried = [
        {"engine": "Delta Spark", "version": "4.4.0", "digest": "a", **known},
        {"engine": "DuckDB", "version": None, "digest": "b", **known},
        {"engine": "deltalake", "version": "1.6.6", "digest": "a", **known},
        {"engine": "Polars", "version": "2.0", "outcome": "refused", "rows": None, "digest": None, "message": "no"},
    ]
    text = render(report_of(sound(evidence={"tried": tried})))
    assert "Delta Spark 4.4.0, deltalake 1.6.6 read the same 3 rows" in text
    assert "DuckDB read 3 rows" in text
    assert "Polars" not in text
