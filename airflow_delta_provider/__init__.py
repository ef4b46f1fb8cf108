"""Airflow provider that audits lakehouse tables against their protocol, and makes safe, verified changes to them.

Importing this package imports neither Airflow nor PySpark: ``domain`` and ``jobs`` are shipped
to Spark clusters, which have no Airflow, and provider discovery must stay cheap.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 10):  # noqa: UP036  no installer looks at what is shipped to a cluster
    raise ImportError(
        "airflow-delta-provider needs Python 3.10 or later, and this is Python {}.{}. On Spark, set "
        "spark.pyspark.python to a later one.".format(*sys.version_info)
    )

__version__ = "0.1.0"
