"""An Airflow provider that audits lakehouse tables and makes safe, verified changes to them.

Importing this package imports neither Airflow nor PySpark: ``domain`` and ``jobs`` are shipped to Spark clusters,
which have no Airflow, and provider discovery must stay cheap.

- ``domain``: knowledge of the table formats. It imports only the standard library.
- ``jobs``: access to tables, with and without Spark. It imports ``domain``, and never Airflow.
- ``api.py``: calls from Python. It imports ``domain`` and ``jobs``; nothing imports it.
- ``command_line``: ``delta-provider``. It imports ``domain`` and ``jobs``; only ``__main__.py`` imports it.
- The other folders run in Airflow. They import ``domain``, and each other in this order: ``sensors``; ``operators``;
  ``triggers``, ``hooks`` and ``notifications``; ``watch``. ``plugins`` imports only ``domain``, and ``links``
  nothing. Only ``watch/health.py`` imports ``jobs``.

The contracts of import-linter in ``pyproject.toml`` check most of this. The docstring of each folder names its
content, the allowed imports, and the places for additions. A new folder needs a place in those contracts.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 10):  # noqa: UP036  no installer looks at what is shipped to a cluster
    raise ImportError(
        "airflow-delta-provider needs Python 3.10 or later, and this is Python {}.{}. On Spark, set "
        "spark.pyspark.python to a later one.".format(*sys.version_info)
    )

__version__ = "0.1.0"
