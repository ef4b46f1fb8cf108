"""The formats of a report, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.report.job_report import JobReport


@dataclass(frozen=True)
class Format:
    """A format of reports. Its module is imported when it is used: a text needs no HTML.

    :param module: name of a module in this package, which defines ``render(report, presentation)``
    :param suffix: suffix of files, with its dot
    :param about: purpose, in a few words
    """

    name: str
    module: str
    suffix: str
    about: str

    def render(self, report: JobReport, presentation: Presentation | None = None) -> str:
        """Return the report in this format, ending with a line break; it can be encoded in UTF-8."""
        module = import_module(f"{__package__}.{self.module}")
        render = cast("Callable[[JobReport, Presentation | None], str]", module.render)
        return render(report, presentation)


FORMATS: Mapping[str, Format] = {
    known.name: known
    for known in (
        Format("text", "summary_text", ".txt", "for people on a terminal"),
        Format("json", "json_text", ".json", "the report itself"),
        Format("markdown", "markdown", ".md", "for comments and job summaries"),
        Format("html", "html_page.page", ".html", "one page, to be sent or kept"),
        Format("sarif", "sarif", ".sarif", "SARIF 2.1.0, for code scanning"),
        Format("junit", "junit", ".xml", "JUnit XML, for test reports of CI"),
        Format("github", "github", ".txt", "workflow commands of GitHub Actions"),
    )
}
