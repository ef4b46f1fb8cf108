"""Migrations: the changes that bring a table to its spec, and their effects on its users.

- ``planner.py``: plans the parts of a migration in order; ``parts.py``: columns, metadata, features, rows.
- ``difference.py``: differences between spec and table; ``drift.py``: findings about them, and their commits.
- ``plan.py``: the plan, its digest and its approval; the table while it is planned.
- ``casting.py``, ``disproof.py``: casts, and steps that statistics disprove.

The top of ``domain``: it may import all other folders. ``jobs/migrations`` and ``jobs/changes`` import it, and for
plans and quiet windows ``operators/apply_migration.py`` and ``sensors/quiet_window.py``.

- A new part of a spec to carry out: a function like ``set_properties`` in ``parts.py``, entered in ``_PARTS``
  (``planner.py``), and its comparison in ``drift.py``. ``enable_features`` comes first, and takes each property that
  enables a feature.
- A new warning about plans: a rule in ``domain/checks/migrations``.
"""
