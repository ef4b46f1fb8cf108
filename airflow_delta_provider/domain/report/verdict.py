"""Verdicts of tables and jobs, and severities of findings."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class Severity(str, Enum):
    """How much a finding weighs. ``UNDECIDED`` says that something could not be decided."""

    ERROR = "ERROR"
    WARNING = "WARNING"
    UNDECIDED = "UNDECIDED"


class Verdict(str, Enum):
    """How a table, or a job over many tables, ended; declared from best to worst."""

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
    """Return the worst of ``verdicts``; of none, ``PASS``."""
    return max(verdicts, key=lambda verdict: verdict.rank, default=Verdict.PASS)


def judge(severities: Iterable[Severity]) -> Verdict:
    """Return the verdict that findings of these severities add up to.

    ``VIOLATED`` with at least one error, else ``UNDETERMINED`` with at least one undecided
    finding, else ``PASS``: warnings alone are allowed.
    """
    seen = set(severities)
    if Severity.ERROR in seen:
        return Verdict.VIOLATED
    if Severity.UNDECIDED in seen:
        return Verdict.UNDETERMINED
    return Verdict.PASS
