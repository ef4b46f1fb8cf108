"""Links of a task in Airflow's web interface.

``report.py``: links from a task to its report, to the page of the task, and to the page of all tables.

Imports Airflow, and nothing of this package. The path of the pages is repeated here, because ``plugins`` is not
imported. ``operators`` import this folder.

- A new link: a class like ``DeltaReportLink``, entered in ``operator_extra_links`` of ``Reporting``
  (``operators/reporting.py``) and in ``extra-links`` (``get_provider_info.py``).
- A new store with a web console: a branch in ``_console``.
- A new page to link to: see ``plugins``.
"""
