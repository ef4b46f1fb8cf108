"""The kinds of job that change a table through the engine.

- ``kinds.py``: the jobs by kind; ``table_change.py``: read, plan, commit, read again, verify.
- ``planned_change.py``: ``PlannedChange``, the base of all changes. ``sql_changes.py``, ``disable_mapping.py``,
  ``usage_tracking.py`` and ``apply_migration.py`` hold the changes.
- ``commit.py``, ``engine_transaction.py``: commits that no SQL makes. ``rehearsal.py``: a trial on an empty copy.
- ``values.py``: values of columns, compared before and after.

Imports PySpark, ``jobs/spark``, ``jobs/audit``, ``jobs/migrations``, ``jobs/delta``, and ``domain``, mainly
``changes`` and ``migrations``. Only ``jobs/run`` may import it; it loads the jobs by their names in ``KINDS``.

- A new change: a ``PlannedChange`` like ``WidenTypes`` (``sql_changes.py``), and a ``ChangeJob`` in ``kinds.py``. Its
  plan and the check afterwards are in ``domain/changes``.
- A step without SQL: ``edit`` or ``commit`` of its ``PlannedChange``.
- A reason to stop before a migration: ``find_obstacles`` in ``apply_migration.py``.
"""
