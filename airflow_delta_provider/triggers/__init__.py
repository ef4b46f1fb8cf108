"""Triggers that wait without a worker.

- ``table_trigger.py``: ``TableTrigger``, the base of the triggers behind sensors.
- ``column_types.py``, ``feature.py``, ``table_change.py``, ``quiet.py``, ``health.py``, ``paimon_snapshot.py``: one or
  more sensors each.
- ``table_event.py``, ``table_poll.py``: event-driven scheduling, with polls that triggers of one table share.

Imports Airflow, ``watch``, ``domain`` and single modules; neither ``hooks`` and ``notifications`` nor the folders
above, nor ``jobs`` or Spark. ``sensors`` import it. Airflow stores a trigger as its arguments, so they must be plain
values.

- A new trigger: copy ``feature.py``: a dataclass with the arguments, and ``watch``, which returns a ``TableWatch``.
  Name it in ``get_provider_info.py``.
- A new event for scheduling: ``EventKind`` and ``events_since`` in ``domain/delta/table_events.py``, then
  ``table_event.py``.
- Reading belongs in ``watch``, not here.
"""
