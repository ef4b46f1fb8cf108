"""``DF``: data files and deletion vectors that do not match the log.

- ``files.py``: single files, deletion vectors, rewritten rows, conditions that rows break.
- ``statistics.py``, ``file_comparison.py``: bounds and null counts in the log, compared with footers and rows, and
  the right values for a repair; ``stored_bounds.py``, ``stored_columns.py``: the values and columns that they compare.
- ``schema.py``, ``schema_walk.py``, ``stored_types.py``: schemas from footers, compared with the table's.

Imports ``rule`` and ``check`` of ``checks``, the families ``column_mapping``, ``protocol`` and ``type_widening``,
``domain/delta``, ``formats/parquet`` and ``report``. ``domain/audit``, ``domain/changes`` and ``jobs`` import it.
Nothing here opens a file: callers pass footers and counts.

- A new rule about a file: copy ``ROW_COUNT`` with ``wrong_row_count`` in ``files.py``; the caller in ``jobs`` reads
  the file.
- A new contradiction of schemas: ``SchemaWalk`` in ``schema_walk.py``. A new pair of types: ``may_be`` in
  ``stored_types.py``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily

FAMILY = RuleFamily("DF", "data files", "Data files and deletion vectors that do not match the log.")
