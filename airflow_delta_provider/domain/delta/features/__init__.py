"""Table features: one record each, in a module by topic; all other code reads the records.

A new feature is a new ``Feature`` in one of these modules (or in a new one, named in ``registry``).

- ``feature.py``: the record, and the values in it.
- ``columns.py``, ``log.py``, ``owners.py``: features about columns, about files and the log, and about other owners.
- ``registry.py``: all features by name, in order of preference.

Imports ``data_type``, ``live_file`` and ``metadata`` of ``domain/delta``, besides ``formats`` and ``engine``. The
modules of ``domain/delta`` and all folders above may import it, under the rules for ``domain/delta``.

- A new feature: copy ``TYPE_WIDENING`` (``columns.py``) or ``DELETION_VECTORS`` (``log.py``). A feature is imported
  only from modules that come earlier in ``FEATURES`` (``registry.py``).
- A new kind of fact about features: a field of ``Feature`` in ``feature.py``.
- Support by engines: ``domain/engine/profiles.json``, not here.
"""
