"""The job that audits the protocol of tables.

- ``protocol_audit.py``: ``run``, the kind ``audit``: saved state, levels, report.
- ``range_audit.py``: chooses the start, and checks commit after commit; ``commit_file.py``: batches of commits.
- ``derived_files.py``: checkpoints, checksums and compacted commits, compared with the commits; ``reduction.py``: the
  part of a large checkpoint that the driver needs, if an engine's tasks read it.
- ``data_level.py``: footers and rows, for the levels beyond the log; ``hidden_rows.py``: rows that queries lose.

Imports ``jobs/row_tracking``, ``delta``, ``storage``, ``process``, and ``domain``, mainly ``audit`` and ``checks``.
No Spark: rows are read through ``RowProofs``. ``jobs/run``, ``jobs/changes`` and ``jobs/spark/kinds.py`` import it.

- A new rule about the log needs no code here. A new rule about a derived file: a call in ``DerivedFiles`` or
  ``CheckpointAudit`` (``derived_files.py``).
- A new check of data files: ``DataLevel`` in ``data_level.py``. If it reads rows, also a method of ``RowProofs``
  (``jobs/row_tracking/row_proofs.py``).
- A new option: ``AuditOptions`` in ``domain/request/check_options.py``.
"""
