"""Watches for sensors and triggers: they read logs and snapshots in object storage, without Spark.

- ``table_watch.py``, ``metadata_folder.py``: the base of all watches, and a folder in Airflow's object storage.
- ``head_reader.py``, ``head_watches.py``: the newest protocol and metadata of a Delta table, and waits for them.
- ``log_follower.py``: the state after each commit; ``health.py``: audits in this process; ``paimon.py``: Paimon.
- ``python_engine.py``: checks in this process; ``delta_options.py``: connections as options of ``deltalake``.

Imports Airflow, ``domain``, and ``exceptions``. Only ``python_engine.py`` imports ``jobs``. ``table_watch.py`` and
``metadata_folder.py`` import no table format, and ``paimon.py`` nothing of Delta. ``triggers``, ``sensors``,
``hooks`` and ``operators`` import it.

- A new condition on a Delta table: a ``HeadWatch`` like ``QuietWatch`` in ``head_watches.py``, then a trigger and a
  sensor.
- A condition on another format: a ``TableWatch`` like ``SnapshotWatch`` in ``paimon.py``.
- A new error of storages: ``metadata_folder.py``.
"""
