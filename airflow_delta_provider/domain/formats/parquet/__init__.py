"""The content of Parquet files: footers, schemas and rows.

- ``footer.py``, ``schema.py``, ``thrift.py``: the footer, its schema, and the protocol that encodes both.
- ``statistics.py``, ``chunk_shapes.py``: the statistics of all columns in a footer, fast.
- ``pages.py``, ``encodings.py``: pages of a column, decompressed and decoded to Python values.
- ``rows.py``: columns as records.

Imports ``budget`` and ``snappy`` of ``formats``. ``domain/checks``, ``domain/changes``, ``jobs`` and
``watch`` import it: most of them read footers only, and checkpoints are read as rows.

- A new encoding: a member of ``Encoding`` and a case in ``decoded`` (``encodings.py``).
- A new logical type: ``LogicalKind`` in ``schema.py``, and ``converted`` in ``encodings.py``.
- A new codec: ``STANDARD_CODECS`` in ``pages.py``, or ``jobs/tables/codecs.py`` for an installed package.
"""
