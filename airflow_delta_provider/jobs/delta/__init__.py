"""Delta tables: the session that opens them, their log, their data files.

- ``session.py``: ``DeltaSession``, which opens tables by their location; ``python_session`` makes one without Spark.
- ``table_log.py``, ``kept_log.py``: a log as values, and lookups in the commits that are kept.
- ``checkpoint_files.py``, ``arrow_checkpoint.py``, ``python_checkpoint.py``: Parquet checkpoints, by several readers.
- ``engines.py``: the engines that wrote lately; files, read for conditions of engines.
- ``findings_writer.py``: appends findings to a table by the package ``deltalake``.

Imports ``jobs/tables``, ``jobs/storage``, ``jobs/process.py`` and ``domain``; no Spark. ``jobs/paimon`` must not
import it. The other folders of ``jobs`` above it do, and so do ``command_line`` and ``watch/health.py``. Files are
read through ``TableStorage`` only.

- A new question about earlier commits: a method of ``KeptLog``, declared in ``PastLog`` (``domain/audit/past.py``).
- A new reader of checkpoints: a module like ``arrow_checkpoint.py``, called in ``CheckpointFiles``.
- A new file of the log: its name in ``domain/delta/log_files.py``, its reading in ``TableLog``.
"""
