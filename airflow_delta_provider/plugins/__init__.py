"""Pages in Airflow's UI.

- ``delta_plugin.py``: ``DeltaPlugin``, which adds a tab and a page. Every process of Airflow imports it, so it is
  small.
- ``findings_reader.py``: the open findings of the configured table.
- ``application.py``: the web application: permissions, and XComs from the database. It is imported at the first
  request.

Imports Airflow, FastAPI, SQLAlchemy, and of this package ``domain/rendering``, ``domain/report``,
``configuration`` and ``watch/delta_options.py`` only. Nothing imports it:
Airflow loads it by its entry point. No ``jobs`` and no Spark.

- A new page: its layout in ``domain/rendering/ui_pages.py`` (``domain/rendering/page.py`` has the report), its
  permission and its data in a function like ``show_rule``, its path in ``application()``.
- A new tab or entry of the navigation: ``external_views`` of ``DeltaPlugin``.
- More content on a page: tasks must push it, in ``domain/report/pages.py``.
"""
