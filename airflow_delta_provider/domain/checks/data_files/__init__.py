"""``DF``: data files and deletion vectors that do not match the log."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily

FAMILY = RuleFamily("DF", "data files", "Data files and deletion vectors that do not match the log.")
