"""Everything that needs Spark: sessions, storage through Hadoop, proofs about rows.

- ``session.py``: the Spark session and its settings; ``table_session.py``: a session for tables of any format.
- ``delta.py``: ``SparkDeltaSession``; ``hadoop_storage.py``: files with the session's credentials.
- ``large_checkpoint.py``: checkpoints that tasks read, as they have too many files for the driver.
- ``table_tasks.py``: audits of many tables, shared among tasks.
- ``engine_errors.py``: errors of the engine, with their meaning for the table.
- ``block_codecs.py``, ``jvm_output.py``: codecs, and the output of the JVM.
- ``kinds.py``: checks that also read rows. ``row_tracking``, ``paimon``: the proofs about rows.

Imports PySpark, Py4J, ``domain``, and the folders of ``jobs`` below it: ``audit``, ``row_tracking``, ``paimon``,
``delta``, ``tables``, ``storage``. ``jobs/changes`` and ``jobs/run`` import it, and ``command_line/engine.py``.

- A new error of Spark or Delta: ``understand`` in ``engine_errors.py``.
- A kind that checks tables and reads rows: a function like ``audit`` in ``kinds.py``.
- A new setting of SQL: ``SQL_SETTINGS`` in ``session.py``.
"""
