"""Proofs about the rows of Delta tables.

- ``row_proofs.py``: ``SparkRowProofs``, the implementation of the port in ``jobs/row_tracking/row_proofs.py``.
- ``row_reader.py``, ``deleted_positions.py``: rows with their ids, and the deleted ones.
- ``uniqueness.py``, ``distributed_ids.py``: no id twice, in this process or in Spark's tasks.
- ``moved_rows.py``, ``key_stability.py``: rows before and after commits, by id and by key.
- ``condition_reader.py``: rows that break a constraint, and bounds of columns that footers do not decide.

Imports PySpark, ``jobs/row_tracking``, ``jobs/delta``, modules of ``jobs/spark``, and ``domain``, mainly
``checks/row_tracking``. ``jobs/spark/kinds.py`` imports it. ``jobs/spark/paimon`` also uses ``row_reader.py`` and
``distributed_ids.py``, which import no table format themselves.

- A new proof: a method of ``RowProofs``, implemented in ``SparkRowProofs`` with a module like ``key_stability.py``.
- A new condition on rows: ``row_conditions`` in ``domain/delta/row_condition.py``; ``ConditionReader`` runs it.
"""
