"""Until when findings are open, as their rules say."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.healing import Details, StillOpen
from airflow_delta_provider.domain.checks.registry import RULES, rule_of
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Codes of the rules of which a commit can heal violations that changes nothing but files.
HEALED_BY_FILES = tuple(rule.code for rule in RULES.values() if rule.healing is not None and rule.healing.by_files)
#: Codes of the rules of which a commit heals violations that leads back to an earlier version.
HEALED_BY_RESTORE = tuple(rule.code for rule in RULES.values() if rule.healing is not None and rule.healing.by_restore)


def still_open_after(finding: Finding, transition: Transition) -> StillOpen | None:
    """Return what tells until when a finding is open; None where only its file's removal tells.

    :param transition: the commit that the finding is about
    """
    healing = rule_of(finding).healing
    return None if healing is None else healing.after(finding, transition)


def still_open_by(finding: Finding, details: Details | None) -> StillOpen | None:
    """Return the same by the details that an earlier audit kept; None also where they are not enough.

    :param details: None where there are none
    """
    healing = rule_of(finding).healing
    if healing is None or (details is None and healing.needs_details):
        return None
    try:
        return healing.by(finding, dict(details or {}))
    except (KeyError, TypeError, ValueError):
        return None
