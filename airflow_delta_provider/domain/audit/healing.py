"""Conditions, as given by the rules, for findings to stay open."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.healing import Details, StillOpen
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Codes of rules whose violations can be fixed by a commit that changes only files.
HEALED_BY_FILES = tuple(rule.code for rule in RULES.values() if rule.healing is not None and rule.healing.by_files)
#: Codes of rules whose violations are fixed by a commit that returns to an earlier version.
HEALED_BY_RESTORE = tuple(rule.code for rule in RULES.values() if rule.healing is not None and rule.healing.by_restore)


def still_open_after(finding: Finding, transition: Transition) -> StillOpen | None:
    """Return the check whether a finding is still open; None if only the removal of its file can fix it.

    :param transition: the commit that the finding is about
    """
    healing = rule_of(finding).healing
    return None if healing is None else healing.after(finding, transition)


def still_open_by(finding: Finding, details: Details | None) -> StillOpen | None:
    """Return the check from the details that an earlier audit saved; None also if they are not sufficient.

    :param details: saved details; None if there are none
    """
    healing = rule_of(finding).healing
    if healing is None or (details is None and healing.needs_details):
        return None
    try:
        return healing.by(finding, dict(details or {}))
    except (KeyError, TypeError, ValueError):
        return None
