"""``FT``: what the provider or the platform could not do."""

from __future__ import annotations

from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules.rule import Rule

STORAGE = Rule("FT01", Severity.ERROR, "storage or credentials failed")
ENGINE = Rule("FT02", Severity.ERROR, "the engine failed")
UNEXPECTED = Rule("FT03", Severity.ERROR, "unexpected error in the job")
UNVERIFIED = Rule("FT04", Severity.UNDECIDED, "change committed, but not verified")

RULES = (STORAGE, ENGINE, UNEXPECTED, UNVERIFIED)
