"""Checks of Apache Paimon tables. Metadata is read without Spark; rows need it.

- ``check.py``: ``check_paimon_table``, the kind ``check-paimon-row-tracking``.
- ``metadata_level.py``: reads and checks commits; ``metadata_source.py``: files of metadata to values.
- ``table.py``: a table, its files, and ``RowProofs``, the port to the engine that reads rows.

Imports ``jobs/tables``, ``jobs/storage``, ``jobs/process.py``, and ``domain``, mainly ``paimon``. It imports nothing
of Delta, neither from ``jobs`` nor from ``domain``, and no Spark. ``jobs/run`` and ``jobs/spark`` import it;
``jobs/spark/paimon`` implements the port.

- A new metadata file: a method of ``MetadataSource``, its content in ``domain/paimon``.
- A new check of metadata: ``domain/paimon``; ``MetadataLevel`` calls it if it needs further files.
- A new check of rows: ``jobs/spark/paimon``, reported through ``RowResult`` (``table.py``).
"""
