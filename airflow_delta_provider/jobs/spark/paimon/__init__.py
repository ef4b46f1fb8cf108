"""Proofs about the rows of Paimon tables, by their files and through their connector.

- ``row_level.py``: ``SparkRowProofs``, the implementation of the port in ``jobs/paimon/table.py``.
- ``rows.py``: rows of data files with their ids; ``live_ids.py``: no id twice; ``compared_rows.py``: before and
  after.
- ``catalog.py``: tables that only the user's own catalog in Spark can read.

Imports PySpark, ``jobs/paimon``, modules of ``jobs/spark``, and ``domain``, mainly ``paimon``. From
``jobs/spark/row_tracking`` it takes the reader of rows and the comparison of ids. Only ``jobs/spark/kinds.py``
imports it.

- A new rule about rows: its findings in ``domain/paimon/row_rules.py``, the rows in ``ComparedRows``
  (``compared_rows.py``) or ``LiveRowIds`` (``live_ids.py``).
- A new table layout to read: ``RowFrame`` in ``rows.py``.
- A new check through the catalog: ``PaimonCatalogCheck`` in ``catalog.py``.
"""
