"""Reports for people, composed from findings and the texts of their rules.

- ``presentation.py``: the formats and the settings for showing a report.
- ``document.py``: blocks, and their writer for plain text; ``report_blocks.py``: the blocks of plans and answers.
- ``report_document.py``, ``timeline.py``, ``links.py``: other content that the formats share.
- ``text.py``, ``markdown.py``, ``page.py``, ``sarif.py``, ``junit.py``, ``github.py``, ``json_text.py``: one format
  each. ``html.py`` and ``page_parts.py`` serve all pages.
- ``ui_pages.py``: pages in Airflow's UI.

Imports ``paimon``, ``spec``, ``checks``, ``delta``, ``report`` and ``text``; not ``changes`` and ``migrations``.
``command_line``, ``jobs``, ``operators``, ``notifications``, ``plugins`` and ``watch`` import it. Rendering decides
nothing: it shows findings that exist.

- A new format: a module with ``render(report, presentation)``, like ``junit.py``, and an entry in ``FORMATS``
  (``presentation.py``).
- A new part of an answer: blocks in ``report_blocks.py``, which all writers know.
- A new part of a report: ``report_document.py``, then ``text.py``, ``markdown.py`` and ``page.py``.
- A new page in Airflow's UI: a function like ``tables_page`` in ``ui_pages.py``; see ``plugins``.
"""
