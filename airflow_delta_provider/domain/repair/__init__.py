"""Repairs of damaged tables by one commit, proved by the audit of its result.

- ``logged_table.py``: a version as its log states it; changes of single values, and the commit that makes them.
- ``corrections.py``, ``file_corrections.py``: corrections that may fix a finding, by the ``RepairMethod`` that its rule
  names.
- ``planner.py``: tries corrections on the audit, and keeps those that fix a finding and break no rule.
- ``plan.py``: the steps of a repair, and their form in reports.

Imports ``checks``, ``delta``, ``formats``, ``report`` and ``text``. Only ``jobs/repair`` imports it.

- A new repair method: a member of ``RepairMethod`` (``checks/rule.py``), and a function with ``@proposes`` in
  ``corrections.py`` or ``file_corrections.py``. It may propose freely: the planner proves each proposal.
- A rule whose violations a method may fix: ``repairs=`` in its definition.
"""
