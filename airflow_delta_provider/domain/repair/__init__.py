"""Repairs of damaged tables by one commit, proved by the audit of its result.

- ``logged_table.py``: a version as its log states it; changes of single values, and the commit that makes them.
- ``cures.py``, ``file_cures.py``: corrections that may fix a finding, by the ``Cure`` that its rule names.
- ``planner.py``: tries corrections on the audit, and keeps those that fix a finding and break no rule.
- ``plan.py``: the steps of a repair, and their form in reports.

Imports ``checks``, ``delta``, ``formats``, ``report`` and ``text``. Only ``jobs/repair`` imports it.

- A new cure: a member of ``Cure`` (``checks/rule.py``), and a function with ``@cures`` in ``cures.py`` or
  ``file_cures.py``. It may propose freely: the planner proves each proposal.
- A rule that a cure may fix: ``cures=`` in its definition.
"""
