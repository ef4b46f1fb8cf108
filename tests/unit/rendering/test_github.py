from __future__ import annotations

import re

from hypothesis import given

from airflow_delta_provider.domain.rendering.github import render
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.report import JobReport, Severity, Status
from tests.unit.rendering.reports import (
    faulty,
    found,
    nasty_reports,
    refused,
    report_of,
    sound,
    undecided,
    violated,
)

COMMAND = re.compile(r"::(error|warning|notice) ((?:[a-z]+=[^,:\r\n]*,)*title=[^,:\r\n]*)::([^\r\n]*)")


def commands(report: JobReport, presentation: Presentation | None = None) -> list[tuple[str, str, str]]:
    """Read commands as a runner does."""
    *lines, last = render(report, presentation).splitlines()
    assert not last.startswith("::")
    read = [COMMAND.fullmatch(line) for line in lines]
    assert None not in read
    return [(match[1], match[2], match[3]) for match in read if match]


def test_rule_is_one_command_the_worst_first() -> None:
    warned = violated("/lake/w", found("MD07", severity=Severity.WARNING))
    report = report_of(warned, undecided(), violated("/lake/a"), violated("/lake/b"), refused(), faulty())
    read = commands(report)
    assert [(kind, said[:10]) for kind, said, _ in read] == [
        ("error", "title=FT01"),
        ("error", "title=RQ01"),
        ("error", "title=MD03"),
        ("warning", "title=LG06"),
        ("warning", "title=MD07"),
    ]
    assert read[2][2].startswith("/lake/a, /lake/b%0AThe commit has 2 metaData actions.%0A")


def test_with_a_baseline_what_was_known_is_a_notice() -> None:
    tables = violated("a", found(status=Status.NEW)), violated("b", found(status=Status.KNOWN)), faulty("c")
    read = commands(report_of(*tables), Presentation(new_only=True))
    assert [(kind, said[:10], message[:1]) for kind, said, message in read] == [
        ("error", "title=FT01", "c"),
        ("error", "title=MD03", "a"),
        ("notice", "title=MD03", "b"),
    ]


def test_file_is_named_where_the_table_is_in_the_repository() -> None:
    [(_, properties, _)] = commands(report_of(violated("data/a,b:c%")))
    name = "data/a%252Cb%253Ac%2525"
    assert properties.startswith(f"file={name}/_delta_log/00000000000000000003.json,line=1,title=MD03 ")
    assert "file=.data/t/_delta_log/" in render(report_of(violated("./.data/t")))
    assert "file=" not in render(report_of(violated("../t")))
    assert "file=" not in render(report_of(violated("/lake/t"), violated("s3://b/t"), violated("main.sales.t")))


def test_message_is_escaped_once_in_its_line() -> None:
    [(_, _, message)] = commands(report_of(violated("t", found(evidence="100 % of it:\r\n::error::no, this"))))
    assert "100 %25 of it:%0A::error::no, this" in message


@given(nasty_reports)
def test_nothing_of_a_table_becomes_a_command(report: JobReport) -> None:
    assert len(commands(report)) <= sum(len(table.findings) for table in report.tables)


def test_all_is_well_in_one_line() -> None:
    assert render(report_of(sound())) == "1 table · 1 pass · 4.1 s\n"
