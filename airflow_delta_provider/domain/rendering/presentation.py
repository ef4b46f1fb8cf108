"""The formats of reports, settings for showing one, and the styles of text on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto
from importlib import import_module
from typing import NamedTuple, cast

from airflow_delta_provider.domain.rendering.links import RuleLinks, SourceTree
from airflow_delta_provider.domain.report.report import JobReport, ReportPlace, Severity, Verdict


class Tone(Enum):
    """The meaning of a piece of text for its reader."""

    BAD = auto()
    DOUBTFUL = auto()
    GOOD = auto()
    HEADING = auto()
    ASIDE = auto()


@dataclass(frozen=True)
class Style:
    """The look of tones on a terminal.

    :param codes: parameters of the terminal's SGR sequence, by tone; other tones are shown plainly
    """

    codes: Mapping[Tone, str] = field(default_factory=dict)

    def paint(self, text: str, tone: Tone) -> str:
        """Return ``text`` in a tone."""
        code = self.codes.get(tone)
        return text if code is None or not text else f"\x1b[{code}m{text}\x1b[0m"


PLAIN = Style()
ANSI = Style({Tone.BAD: "1;31", Tone.DOUBTFUL: "33", Tone.GOOD: "32", Tone.HEADING: "1", Tone.ASIDE: "2"})

TONE_OF_VERDICT: Mapping[Verdict, Tone] = {
    Verdict.PASS: Tone.GOOD,
    Verdict.UNDETERMINED: Tone.DOUBTFUL,
    Verdict.VIOLATED: Tone.BAD,
    Verdict.REFUSED: Tone.BAD,
    Verdict.FAULT: Tone.BAD,
}
TONE_OF_SEVERITY: Mapping[Severity, Tone] = {
    Severity.ERROR: Tone.BAD,
    Severity.UNDECIDED: Tone.DOUBTFUL,
    Severity.WARNING: Tone.DOUBTFUL,
}


class Detail(IntEnum):
    """The amount of a report to show."""

    LITTLE = 0
    NORMAL = 1
    MUCH = 2


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """Settings that formats need in addition to the report.

    A format ignores settings that do not apply to it.

    :param style: style of text: plain, or with the colours of a terminal
    :param width: width of text, in columns
    :param detail: amount of text
    :param rules: links to the documentation of rules
    :param place: place of the whole report, if saving it was tried
    :param sources: repository of tables and files, for SARIF and GitHub; None if unknown
    :param undetermined_fails: True if an UNDETERMINED table is a failure in JUnit, otherwise it is skipped
    :param new_only: True if known findings cause no failure in JUnit and GitHub, as with a baseline
    """

    style: Style = PLAIN
    width: int = 100
    detail: Detail = Detail.NORMAL
    rules: RuleLinks = field(default_factory=RuleLinks)
    place: ReportPlace | None = None
    sources: SourceTree | None = None
    undetermined_fails: bool = False
    new_only: bool = False


class Format(NamedTuple):
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
        Format("text", "text", ".txt", "for people on a terminal"),
        Format("json", "json_text", ".json", "the report itself"),
        Format("markdown", "markdown", ".md", "for comments and job summaries"),
        Format("html", "page", ".html", "one page, to be sent or kept"),
        Format("sarif", "sarif", ".sarif", "SARIF 2.1.0, for code scanning"),
        Format("junit", "junit", ".xml", "JUnit XML, for test reports of CI"),
        Format("github", "github", ".txt", "workflow commands of GitHub Actions"),
    )
}
