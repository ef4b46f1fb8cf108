"""Alerts about findings: selection, repetition and formats.

- ``violation.py``: ``DeltaViolationNotifier``, which sends an alert through other notifiers.
- ``outcome.py``, ``alert.py``, ``facts.py``: the outcome of a task, the content of its alert, its parts for all
  formats.
- ``text.py``, ``markdown.py``, ``html.py``, ``slack.py``: one format each.
- ``memory.py``: findings that were sent; ``delivery.py``: confirmation that a report was received.

Imports Airflow, ``domain`` (mainly ``rendering`` and ``report``), and single modules such as ``configuration`` and
``report_store``. No ``jobs``, ``hooks`` or ``triggers``. ``operators`` import it.

- A new format: a module with ``render(alert)``, like ``markdown.py``, and a property of ``Message``
  (``violation.py``).
- A new part of every alert: ``facts.py``, then each format.
- A new rule of selection or repetition: an argument of ``DeltaViolationNotifier``; ``Memory`` keeps the sent
  findings.
"""
