"""Alerts about findings: selection, repetition and formats.

- ``violation.py``: ``DeltaViolationNotifier``, which sends an alert through other notifiers.
- ``outcome.py``, ``alert.py``: the outcome of a task, the content of its alert.
- ``alert_document.py``: its blocks for all formats, also as text and Markdown; ``html.py``, ``slack.py``: writers.
- ``incidents.py``: ``DeltaIncidentNotifier``, an incident for each open finding; ``incident_targets.py``: PagerDuty,
  Opsgenie and Jira.
- ``memory.py``: findings that were sent; ``delivery.py``: confirmation that a report was received.

Imports Airflow, ``domain`` (mainly ``rendering`` and ``report``), and single modules such as ``configuration`` and
``report_store``. No ``jobs``, ``hooks`` or ``triggers``. ``operators`` import it.

- A new format: a writer of blocks, like ``slack.py``, and a property of ``Message`` (``violation.py``).
- A new part of every alert: a block in ``alert_document.py``.
- A new service for incidents: an ``IncidentTarget`` like ``OpsgenieIncidents``.
- A new rule of selection or repetition: an argument of ``DeltaViolationNotifier``; ``Memory`` keeps the sent
  findings.
"""
