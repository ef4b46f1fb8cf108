"""Jobs about declared states: planning migrations and detecting drift. They read logs, and change nothing.

- ``planning.py``: ``run``, the kind ``plan-migration``: the plan, its questionable changes, engines locked out.
- ``drift.py``: the kinds ``check-drift``, ``init-spec`` and ``check-compatibility``.
- ``try_engines.py``: the kind ``try-engines``; ``engine_reader.py`` is the process that reads with one engine.

Imports ``jobs/delta``, ``jobs/storage``, ``jobs/tables``, ``jobs/process.py``, and ``domain``, mainly ``migrations``,
``spec`` and ``changes``. No Spark. ``jobs/changes`` imports it, to plan again before it applies, and ``KINDS`` names
its jobs.

- A new job that reads a spec: a function like ``check_drift`` in ``drift.py``, and an entry in ``KINDS``.
- A fact that planning must read from the table: ``plan_for_table`` in ``planning.py``, passed to ``domain/migrations``.
- A trial by the engine belongs in ``jobs/changes/rehearsal.py``.
"""
