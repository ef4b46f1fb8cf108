"""Disabling column mapping: the need for a rewrite, the plan, and its verification.

- ``column_history.py``: a table's columns from commit to commit.
- ``file_columns.py``: the columns of data files, from footers, compared with the table's.
- ``usage.py``: evidence that a column was renamed or dropped, or never was.
- ``plan.py``: the proof that no rewrite is needed, or the rewrite; the check afterwards.

Imports ``alter_columns``, ``plan``, ``steps`` and ``provider_commit`` of ``changes``, and folders below ``changes``.
Only ``jobs`` imports it: ``jobs/column_mapping.py`` reads its input, ``jobs/changes`` executes the plan.

- A new reason to refuse: ``check_can_disable`` in ``plan.py``. A new reason for a rewrite: ``prove_disabling``.
  Rules: ``domain/checks/column_mapping/disabling.py``.
- A new event of a column: ``ColumnEvent`` in ``column_history.py``.
- A new answer about usage: ``usage_of`` in ``usage.py``.
"""
