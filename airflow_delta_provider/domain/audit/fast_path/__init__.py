"""Shortcuts of the audit: commits and lines that match correct earlier ones are not checked again.

Nearly all commits match earlier ones.

- ``json_pattern.py``: lines of JSON with some values left open.
- ``patterns.py``: the values that may differ in each kind of action, and their checks.
- ``lines.py``: commits with lines that match known patterns.
- ``routine_commits.py``: commits with the effect of earlier ones, and a quick test of row tracking.

Imports ``domain/delta`` and ``domain/formats``. It runs no rules: a pattern is taken from an action without findings.
``domain/audit`` and ``jobs/audit`` import it.

- A value that may differ from line to line: a subclass of ``OpenPattern`` in ``patterns.py``, like
  ``TransactionPattern``.
- A new check of single actions that depends on such a value: the same check in ``patterns.py``.
- A new check of commits that depends on files: a condition in ``change_by`` of ``routine_commits.py``.

See "Shortcuts" in CONTRIBUTING.md: tests try every damaged commit on these shortcuts.
"""
