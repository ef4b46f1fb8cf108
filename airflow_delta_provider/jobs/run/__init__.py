"""From a request to its report: the kinds of job and the runner.

- ``runner.py``: runs a request table by table, and turns errors into reports; ``tables.py``: patterns of paths.
  ``FindingsRecorder`` appends the findings of a run to a table; its writers are ``jobs/delta/findings_writer.py`` and,
  with Spark, ``jobs/changes/findings_writer.py``.
- ``submitted.py``: the entry point under spark-submit. ``warm_up.py``: loads all code that jobs use.
- ``table_detail.py``: the kind ``detail``, a small job without a folder of its own.

The top of ``jobs``: it may import all its other folders. ``submitted.py`` and ``warm_up.py`` import Spark; the other
modules do not. It finds jobs by ``KINDS``, and imports none of ``jobs/changes``.
``command_line`` and ``watch/health.py`` import it, and the submitted zip starts here.

- A new kind of job needs no code here, unless it saves state: then an entry in ``_SAVED_STATES`` (``runner.py``).
- A small job that fits no folder: a module like ``table_detail.py``.
- A new error of tables: a case in ``runner.py``, or its meaning in ``jobs/storage/errors.py``.
"""
