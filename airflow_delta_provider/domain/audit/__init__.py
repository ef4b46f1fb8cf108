"""Audits of a table's history: which commit broke which rule, and whether a later commit fixed it.

- ``history.py``: ``HistoryAudit``, the entry. It takes commits, oldest first.
- ``transition_audit.py``, ``change_audit.py``: run the checks on a commit. ``routine_audit.py``: ``FastPath``,
  which skips checks of lines and commits like earlier ones, with the patterns in ``fast_path``.
- ``live_files.py``, ``row_tracking.py``, ``file_findings.py``: live files, their row ids, and findings about them.
- ``violation.py``, ``violations.py``: identity, causes and fixes of violations; ``waivers.py``: accepted findings.
- ``affected_engines.py``: names of the engines that rely on wrong statistics.
- ``past.py``, ``restore_detection.py``: questions about earlier commits, and returns to an earlier state.
- ``saved_state.py``, ``file_records.py``: the state that an audit saves for the next one; its live files.

Imports ``checks``, ``delta``, ``engine``, ``formats``, ``report`` and ``text``. ``changes``, ``spec`` and ``request``
import it, as do ``jobs`` and ``watch/health.py``.

- A new rule needs no code here, unless its check is ``on_file``, ``on_tracked`` or ``on_demand``: then
  ``TransitionAudit`` or another class calls it.
- A new kind of input of checks: a ``Checks`` in ``checks/check.py``, run by ``TransitionAudit``.
- A new question about earlier commits: a method of ``PastLog`` (``past.py``), answered in ``jobs/delta/kept_log.py``.
- A fact that the next audit needs: a field of ``HistoryFacts`` (``saved_state.py``), with a value for older saved
  states that lack it.
"""
