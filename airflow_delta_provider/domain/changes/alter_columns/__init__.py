"""Adding, renaming and dropping columns: name resolution, restrictions, the new schema, verification.

- ``resolution.py``: from the names in a request to columns of the table; changes that are already done are left out.
- ``schema.py``: a schema as JSON, with changed columns. It keeps everything else as it is in the log.
- ``plan.py``: restrictions, the plan, and the check afterwards.

Imports ``plan`` and ``steps`` of ``changes``, and folders below ``changes``. ``own_commit.py``, ``usage_tracking.py``
and ``disable_mapping`` import it, as do ``migrations`` and ``jobs``.

- A new restriction: a refusal in ``check_alteration`` (``plan.py``), with its rule in ``domain/checks/requests.py``.
- A new edit of a schema: a function like ``renamed`` in ``schema.py``.
- A new way to name columns in a request: ``resolve`` in ``resolution.py``.
"""
