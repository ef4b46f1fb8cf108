"""Colours of a terminal, or none. Whether there is one, and wants them, is decided where the output goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

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
