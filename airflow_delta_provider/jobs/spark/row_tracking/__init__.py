"""Proofs about the rows of Delta tables.

- ``row_proofs.py``: ``SparkRowProofs``, the implementation of the port in ``jobs/row_tracking/row_proofs.py``, and the
  proof that keys kept their row ids.
- ``row_reader.py``, ``deleted_positions.py``: rows with their ids, and the deleted ones.
- ``uniqueness.py``, ``distributed_ids.py``: no id twice, in this process or in Spark's tasks.
- ``moved_rows.py``: rows before and after commits.
- ``condition_reader.py``: rows that break a constraint, and bounds of columns that footers do not decide.

Imports PySpark, ``jobs/row_tracking``, ``jobs/delta``, modules of ``jobs/spark``, and ``domain``, mainly
``checks/row_tracking``. ``jobs/spark/kinds.py`` imports it. ``jobs/spark/paimon`` also uses ``row_reader.py`` and
``distributed_ids.py``, which import no table format themselves.

- A new proof: a method of ``RowProofs``, implemented in ``SparkRowProofs`` with a class like ``KeyStability``.
- A new condition on rows: ``row_conditions`` in ``domain/delta/row_condition.py``; ``ConditionReader`` runs it.
"""
