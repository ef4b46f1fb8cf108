"""Avro object container files (Apache Avro 1.12, Specification).

- ``file.py``: whole files to rows, many at once; blocks and their codecs.
- ``schema.py``: a schema, compiled to functions that read some columns and skip the others.
- ``primitives.py``: the encoding of single values.

Imports ``domain/errors.py``, and ``budget`` of ``formats``. ``domain/paimon``, whose manifests are Avro, and ``jobs``
import it. Callers pass codecs that Python lacks: ``jobs/tables/codecs.py``, ``jobs/spark/block_codecs.py``.

- A new type of values: a pair like ``read_long`` and ``skip_long`` in ``primitives.py``, used in ``compile_schema``.
- A codec that Python has: an entry in ``STANDARD_CODECS`` (``file.py``).
"""
