"""Rules for tables and requests, with their texts and checks, one package per family.

- ``rule.py``: rules, their families and fields; ``check.py``: the decorators that register checks.
- ``registry.py``: all families and rules by code; ``causes.py``: rules that may break another one.
- Packages hold the families about Delta tables and migrations. Single modules: ``requests.py``, ``faults.py``,
  ``compatibility.py``, ``drift.py``, ``usage_tracking.py``, ``paimon_metadata.py`` and ``paimon_rows.py``.

Imports ``delta``, ``formats``, ``report``, ``errors`` and ``text``. ``rule.py`` imports only one module of ``delta``,
because rules about Paimon use it. A family may import another one if that makes no cycle. Folders of ``domain`` above
it, ``jobs``, ``command_line`` and the Airflow side import rules to report them. Checks read nothing: callers pass
values.

- A new rule: see "Add a rule" in CONTRIBUTING.md; copy a rule of the same family with its check.
- A refusal: a rule in ``requests.py``. A failure of storage or engine: a rule in ``faults.py``.
- A cause of a rule: a line in ``CAUSES`` (``causes.py``), by codes.
- A new family: a package with ``FAMILY`` in its ``__init__.py``, listed in ``FAMILIES`` (``registry.py``).
"""
