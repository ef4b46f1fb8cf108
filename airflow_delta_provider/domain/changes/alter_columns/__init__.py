"""Adding, renaming and dropping columns: name resolution, restrictions, verification.

- ``resolution.py``: from the names in a request to columns of the table; changes that are already done are left out.
- ``plan.py``: restrictions, the plan, and the check afterwards.

Imports ``plan``, ``schema`` and ``steps`` of ``changes``, and folders below ``changes``. ``usage_tracking.py`` imports
it, as do ``migrations`` and ``jobs``.

- A new restriction: a refusal in ``check_alteration`` (``plan.py``), with its rule in ``domain/checks/requests.py``.
- A new edit of a schema: a function like ``renamed`` in ``changes/schema.py``.
- A new way to name columns in a request: ``resolve`` in ``resolution.py``.
"""
