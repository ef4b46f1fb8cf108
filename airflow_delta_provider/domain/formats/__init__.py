"""File formats that table formats are built from. They know nothing about tables.

- ``avro``, ``parquet``: readers of both formats, from bytes to rows.
- ``json_values.py``: JSON of logs; ``yaml_documents.py``: YAML with positions, for files of users.
- ``snappy.py``, ``roaring.py``: decompression and bitmaps, in Python alone.
- ``budget.py``: the memory that the values of a file may use.

Imports ``errors`` and ``text`` only; no other folder of ``domain``. Any folder above may import it. Input is
untrusted: a reader raises its own error, and takes memory from a ``Budget`` before it allocates much.

- A codec in Python: a module like ``snappy.py``, entered in ``STANDARD_CODECS`` of ``parquet/pages.py`` or
  ``avro/file.py``. A codec of an installed package belongs in ``jobs/tables``.
- A new format: a module or a package here, with its specification named in the docstring.
"""
