"""Submission of jobs through spark-submit.

- ``delta_spark_submit.py``: ``DeltaSparkSubmitHook``, the entry; ``cluster.py``: drivers on a cluster.
- ``workspace.py``, ``settings_file.py``, ``command.py``: files and arguments of a submission, without secrets.
- ``preflight.py``: checks before the start; ``results.py``: the answer of the driver.
- ``jars.py``, ``startup.py``, ``warm_up.py``: jars and archives, resolved once; ``storage_credentials.py``:
  connections.

Imports Airflow, ``domain``, ``watch``, and single modules such as ``configuration``, ``exceptions`` and
``report_store``. It imports neither Spark nor ``jobs``: the driver gets the code as a zip. ``triggers``,
``notifications`` and this folder do not import each other. ``operators`` import it, and ``command_line/warm_up.py``.

- A new type of storage connection: a branch in ``storage_settings`` (``storage_credentials.py``).
- A new check before the start: ``check_before_submit`` in ``preflight.py``.
- A new way for answers: a ``ResultChannel`` like ``FileChannel`` in ``results.py``.
- A new setting of the session: see ``domain/engine``.
"""
