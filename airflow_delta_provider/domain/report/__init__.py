"""The answer of a job: findings and verdicts, and how they are sent and shown.

- ``answers.py``: evidence, details, plans and usage, with the labels of their keys.
- ``report.py``: findings, verdicts, and the reports of tables and jobs. ``report.schema.json`` is written from it.
- ``findings_table.py``: columns and rows of the table in which checks record findings.
- ``summary.py``, ``pages.py``: the parts of a report that fit into XCom.
- ``confirmation.py``: findings that were reported earlier, and receipts; ``transport.py``: the way out of a driver.

Imports ``text`` only: it knows neither rules nor table formats. Everything else may import it, on both sides: it is
the contract between Airflow and the jobs.

- A new field: ``Finding``, ``TableReport`` or ``JobReport`` in ``report.py``. Describe it in
  ``docs/reference/report.md``; then run ``make docs``. Audits fill findings in ``_reported``
  (``domain/audit/violations.py``), and texts show them by ``_where`` and ``facts``
  (``domain/rendering/report_document.py``).
- A new key of evidence, details, plans or usage: a field in ``answers.py``. Schema and texts follow. Details are filled
  by ``detail_of`` (``domain/delta/table_state.py``). Texts show evidence only if much is asked for (``--verbose``);
  an answer that is the purpose of a kind has lines in ``_evidence`` (``domain/rendering/report_blocks.py``).
- A new value in the XCom of tasks: ``summarise`` in ``summary.py``.
- A new column of the table of findings: the end of its part of ``COLUMNS`` in ``findings_table.py``; see the guide.
- A new format for people belongs in ``domain/rendering``.
"""
