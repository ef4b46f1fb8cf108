"""Using a report in a DAG: helpers over the XCom that the operators push.

The ``return_value`` has ``schema_version``, ``kind``, ``verdict``, ``changed``, ``counts``, ``tables``
and ``truncated``; the key ``findings`` has the findings with their tables, and that of
``DeltaTableDetailOperator`` also the key ``details``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.report.summary import tables_with, violated_tables

__all__ = ["tables_with", "violated_tables"]
