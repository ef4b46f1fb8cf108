"""Airflow provider that audits lakehouse tables against their protocol, and makes safe, verified changes to them.

Importing this package imports neither Airflow nor PySpark: ``domain`` and ``jobs`` are shipped
to Spark clusters, which have no Airflow, and provider discovery must stay cheap.
"""

from __future__ import annotations

__version__ = "0.1.0"
