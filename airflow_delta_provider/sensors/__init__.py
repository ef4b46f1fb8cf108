"""Sensors: one module per condition that a task waits for.

- ``table_sensor.py``: ``TableSensor``, which polls once and then waits in the triggerer; ``ChangeSensor`` for
  changes.
- ``column_types.py``, ``feature.py``, ``protocol.py``, ``table_version.py``, ``quiet.py``, ``paimon_row_tracking.py``:
  tables.
- ``job_sensor.py``: ``JobSensor``, which checks each new version by a job; ``health.py``, ``row_tracking.py``.
- ``quiet_window.py``: a time of day.

Imports Airflow, ``triggers``, ``operators`` (types of arguments, approved plans), ``hooks`` (only ``job_sensor.py``),
``watch``, ``domain`` and single modules. No ``jobs`` and no Spark. Only ``migration.py`` imports it.

- A new sensor: copy ``feature.py``, with its trigger in ``triggers`` and its watch in ``watch``; name it in
  ``get_provider_info.py``. A condition on protocol or metadata may only need a new subject in ``SUBJECTS``
  (``domain/delta/table_head.py``).
- A new sensor that submits a job: copy ``row_tracking.py``; it needs no trigger of its own.
- A new argument of all sensors: ``TableSensor``, and ``SensorArguments`` in ``operators/arguments.py``.
"""
