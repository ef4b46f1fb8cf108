"""The objects that a job opens: sessions with a table format, table logs, data files.

- ``session.py``: ``TableSession`` and the locations that a job may access; ``table.py``: detection of a table's
  format.
- ``table_storage.py``: the border of a table: the files that its metadata may name.
- ``codecs.py``: decompression by installed packages, for Avro and Parquet.

Imports ``jobs/storage``, ``jobs/process.py``, and of ``domain`` the parts without a table format: ``checks``
(refusals, and ranges of row ids), ``formats``, ``report``, ``table_name``. No Spark. Folders of ``jobs`` above it
import it, and so does ``command_line``.

- A new table format: a line in ``_FORMATS`` (``table.py``), and a session like ``jobs/delta/session.py``.
- A new limit on files: ``TableStorage.permitted``. A new limit on locations: ``AccessLimits`` in ``session.py``.
- A new codec of a package: ``codecs_of_packages`` or ``page_codecs_of_packages`` in ``codecs.py``.
"""
