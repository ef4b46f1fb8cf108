"""Operators: one module per kind of job.

- ``delta_job.py``, ``delta_task.py``: the bases of operators that run a job, that only read, that change tables.
- ``reporting.py``, ``lineage.py``: XComs, asset events, counters and OpenLineage. ``durable.py``: a driver that an
  earlier try submitted. ``arguments.py``: types of arguments, which sensors also use.
- ``approve_migration.py``, ``judge_report.py``: operators without a job of their own.

Imports Airflow, ``hooks``, ``notifications``, ``links``, ``watch``, ``domain`` (mainly ``request`` and ``report``)
and single modules. No ``jobs`` and no Spark: ``run_here`` (``watch/python_engine.py``) runs a job in
the task's own process.
``sensors`` and ``migration.py`` import it.

- A new operator: copy ``widen_types.py`` if it changes tables, ``table_detail.py`` if it reads; name it in ``KINDS``
  (``domain/request/kinds.py``). The work of the job is not done here.
- A new argument: an option in ``domain/request``, an argument of ``__init__``, a type in ``arguments.py``.
- A new XCom: ``_xcoms``, as in ``table_detail.py``. An operator without a job: also in ``get_provider_info.py``.
"""
