"""Verdicts of tables and jobs, and severities of findings."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Severity(str, Enum):
    """The importance of a finding. ``UNDECIDED`` means that something could not be decided."""

    ERROR = "ERROR"
    WARNING = "WARNING"
    UNDECIDED = "UNDECIDED"


class Verdict(str, Enum):
    """The result of a table, or of a job over many tables; declared from best to worst."""

    PASS = "PASS"
    UNDETERMINED = "UNDETERMINED"
    VIOLATED = "VIOLATED"
    REFUSED = "REFUSED"
    FAULT = "FAULT"

    @property
    def rank(self) -> int:
        """Position from best (0, ``PASS``) to worst (``FAULT``)."""
        return _RANKS[self]


_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of ``verdicts``, or ``PASS`` if there are none."""
    return max(verdicts, key=lambda verdict: verdict.rank, default=Verdict.PASS)


def judge(severities: Iterable[Severity]) -> Verdict:
    """Return the verdict that follows from the severities of findings.

    ``VIOLATED`` if there is at least one error, else ``UNDETERMINED`` if there is at least one undecided finding, else
    ``PASS``: warnings alone are allowed.
    """
    seen = set(severities)
    if Severity.ERROR in seen:
        return Verdict.VIOLATED
    if Severity.UNDECIDED in seen:
        return Verdict.UNDETERMINED
    return Verdict.PASS
