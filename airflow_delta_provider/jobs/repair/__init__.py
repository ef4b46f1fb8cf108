"""The kinds ``plan-repair`` and ``apply-repair``.

- ``overlay.py``: a storage as it will be after a repair.
- ``planning.py``: audits a table, plans its repair, and audits the planned result.
- ``apply.py``: moves files aside, copies data files, commits, and audits again. Only it needs Spark.

Imports ``jobs/audit``, ``jobs/changes`` (``apply.py``), ``jobs/delta``, ``jobs/storage`` and ``domain``. Only
``jobs/run`` may import it; it loads the jobs by their names in ``KINDS``.
"""
