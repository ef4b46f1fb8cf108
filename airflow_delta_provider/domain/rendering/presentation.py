"""How a report is to be shown, and in which colours: those of a terminal, or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, auto

from airflow_delta_provider.domain.rendering.rule_link import RuleLinks
from airflow_delta_provider.domain.rendering.source_tree import SourceTree
from airflow_delta_provider.domain.report.report_place import ReportPlace
from airflow_delta_provider.domain.report.verdict import Severity, Verdict


class Tone(Enum):
    """What a piece of text means to its reader."""

    BAD = auto()
    DOUBTFUL = auto()
    GOOD = auto()
    HEADING = auto()
    ASIDE = auto()


@dataclass(frozen=True)
class Style:
    """How tones are shown.

    :param codes: the parameters of the terminal's SGR sequence by tone; a tone without them is shown plainly
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
    """How much of a report is shown where that can be chosen."""

    LITTLE = 0
    NORMAL = 1
    MUCH = 2


@dataclass(frozen=True, kw_only=True)
class Presentation:
    """What the formats need to know in addition to the report; each takes of it what it can use.

    :param style: of text: plain, or with the colours of a terminal
    :param width: of text, in columns
    :param detail: of text
    :param rules: where rules are documented
    :param place: where the whole report is kept, if that was tried
    :param sources: of SARIF and GitHub: the repository that tables and files are located in, where it is known
    :param undetermined_fails: of JUnit: whether a table that is UNDETERMINED is a failure; else it is skipped
    :param new_only: of JUnit and GitHub: whether findings that were known before fail nothing, as with a baseline
    """

    style: Style = PLAIN
    width: int = 100
    detail: Detail = Detail.NORMAL
    rules: RuleLinks = field(default_factory=RuleLinks)
    place: ReportPlace | None = None
    sources: SourceTree | None = None
    undetermined_fails: bool = False
    new_only: bool = False
