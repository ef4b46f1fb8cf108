"""Shortcuts of the audit: commits and lines that match correct earlier ones are not checked again.

Nearly all commits match earlier ones.

- ``json_pattern.py``: lines of JSON with some values left open.
- ``open_fields.py``: the fields that may differ, and the rules whose checks are repeated for them.
- ``patterns.py``: the values that may differ in each kind of action, and their checks.
- ``lines.py``: commits with lines that match known patterns.
- ``routine_commits.py``: commits with the effect of earlier ones, and a quick test of row tracking.

Imports rules and registries of ``domain/checks``, ``domain/delta`` and ``domain/formats``. It runs no checks: a
pattern is taken from an action without findings. ``FastPath`` in ``domain/audit/routine_audit.py`` is the way in.

- A value that may differ from line to line: a subclass of ``OpenPattern`` in ``patterns.py``, like
  ``TransactionPattern``, and its field in ``open_fields.py``.
- A check that must be fast although it reads an open field: the same check in ``patterns.py`` for single actions, or
  a condition in ``change_by`` of ``routine_commits.py`` for commits; and its rule in ``open_fields.py``.

See "Shortcuts" in CONTRIBUTING.md: tests try every damaged commit on these shortcuts.
"""
