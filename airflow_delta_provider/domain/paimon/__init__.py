"""The metadata of Apache Paimon tables, as values and pure functions from bytes.

- ``layout.py``, ``snapshot.py``, ``schema.py``, ``manifest.py``, ``index_manifest.py``, ``binary_row.py``: files.
- ``live_files.py``, ``table_history.py``: the files of a table from commit to commit.
- ``history_check.py``: checks commits in order, by ``change_rules.py``, ``snapshot_rules.py``,
  ``manifest_checks.py``.
- ``row_groups.py``: files with columns of the same rows, with data evolution.
- ``changed_rows.py``, ``row_rules.py``: rows to read, and findings about them; ``violations.py``: open violations.

Imports ``checks`` (Paimon's families), ``formats``, ``report``, ``errors`` and ``text``. It imports nothing of Delta:
neither ``delta``, ``audit`` nor ``changes``. ``jobs/paimon``, ``jobs/spark/paimon``, ``watch/paimon.py`` and
``domain/rendering/links.py`` import it.

- A new rule about metadata: a rule in ``checks/paimon_metadata.py``, and its check in ``change_rules.py`` (a commit)
  or ``snapshot_rules.py`` (a snapshot).
- A new rule about rows: a rule in ``checks/paimon_rows.py``, and its finding in ``row_rules.py``.
- A new metadata file: a module like ``index_manifest.py``, read by ``jobs/paimon/metadata_source.py``.
"""
