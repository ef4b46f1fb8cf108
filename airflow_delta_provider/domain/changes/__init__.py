"""Changes of tables: one module or package per kind, each with its plan and its verification.

- ``step.py``, ``steps``: steps with their SQL, explanation, effects and edits; ``schema.py``: edits of a schema.
- ``plan.py``: plans of steps.
- ``enable_features.py``, ``drop_features.py``, ``widen_types.py``, ``usage_tracking.py``, ``alter_columns``,
  ``disable_mapping``: one kind of change each.
- ``provider_commit.py``: the actions of commits that this provider writes itself.
- ``preflight.py``, ``lockouts.py``: the protocol after a plan, and the engines it locks
  out.

Imports ``request``, ``audit``, ``checks``, ``delta``, ``engine``, ``formats`` and ``report``; not ``rendering``.
``migrations`` and ``jobs`` import it. Planning reads no table: ``jobs/changes`` passes the state and executes the
plan.

- A new change: a module like ``widen_types.py``, with ``plan_widening`` and ``verify_widened``; its options in
  ``request/change_options.py``, its execution in ``jobs/changes``.
- A new step: see ``steps``.
"""
