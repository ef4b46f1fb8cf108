"""The meaning of the table formats: values, rules, plans and the wire format. Standard library only.

From the top: ``migrations``; ``changes`` and ``rendering``; ``paimon`` and ``request``; ``spec``; ``table_name.py``;
``audit``; ``checks``; ``delta``; ``formats``, ``report`` and ``engine``; ``errors.py`` and ``text.py``. A folder
imports only from those after it in this list, and never from a folder in the same place.

Imports the standard library, and the version of this package. PyYAML (``formats/yaml_documents.py``) and tomli
(``request/config_file.py``) are imported late. Nothing here reads or writes a table: callers pass bytes and values.
``jobs``, ``command_line`` and the Airflow side import this folder.

- A new rule: its family in ``checks``. A new table feature: ``delta/features``.
- A new option or kind of job: ``request``. A new format of reports: ``rendering``.
- A new change of tables: ``changes``. A new key of a spec: ``spec``, then ``migrations``.
- A new table format: a folder like ``paimon``, with a place in the layers of ``pyproject.toml``.
"""
