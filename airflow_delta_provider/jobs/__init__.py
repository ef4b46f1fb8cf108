"""The code that accesses tables. It needs no Airflow; jobs that read rows or change tables need Spark.

From the top: ``run``; ``changes``; ``spark``; ``audit``; ``migrations``, ``paimon``, ``row_tracking`` and
``column_mapping.py``; ``delta``; ``tables``; ``storage``; ``process.py``. Each imports only from those after it, and
those in one place do not import each other.

Imports ``domain``, never Airflow. PySpark is imported by ``spark``, ``changes`` and the entry points in ``run`` only.
``command_line`` imports this folder; on the Airflow side, only ``watch/health.py`` does. The folder is shipped to
clusters, with Python 3.10.

- A new kind of job: see "Add a job kind" in CONTRIBUTING.md. Its function stands in the folder of its subject, and
  ``KINDS`` (``domain/request/kinds.py``) names it.
- A job that needs only logs and footers takes a ``DeltaSession``; rows are read through a port such as ``RowProofs``
  (``row_tracking/row_proofs.py``).
- A new folder: a place in the layers of ``pyproject.toml``, and in its contract about Spark if it only reads.
"""
