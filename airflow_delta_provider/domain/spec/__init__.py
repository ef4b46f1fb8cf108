"""The declared state of tables, from a file next to the DAGs or from a value in Python.

- ``table_spec.py``: the declared state as values; ``problem.py``: the keys, and problems with their positions.
- ``reading.py``, ``columns.py``, ``files.py``: from plain values, and from files, to specs.
- ``writing.py``: from a table or a spec to a file. ``policy.py``: the policy file of migrations.

Imports ``table_name``, ``audit`` (waivers), ``checks`` (codes), ``delta``, ``formats`` and ``report``. ``request``,
``migrations``, ``rendering`` and ``jobs`` import it. It reads no table: callers pass the text of files.

- A new key of a table: an entry in ``TABLE_KEYS`` (``problem.py``), a field of ``TableSpec`` (``table_spec.py``), its
  reading in ``read_spec`` (``reading.py``), its writing in ``plain_of`` (``writing.py``).
- A new key of a column: ``COLUMN_KEYS`` and ``ColumnSpec``, its reading in ``read_columns`` (``columns.py``).
- A new key must also be planned and compared: see ``migrations``.
- A new condition of a policy: ``Condition`` in ``policy.py``.
"""
