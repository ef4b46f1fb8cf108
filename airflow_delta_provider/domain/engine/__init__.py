"""Capabilities of engine releases, and the setup of Spark sessions for them.

- ``profiles.json``, ``profile.py``: features that each release reads and writes, with a source.
- ``statistics_use.py``: statistics of files on which releases rely; part of their profiles.
- ``conditions.py``: cases in which a release behaves otherwise, as profiles state them; ``delta`` decides them.
- ``fleet.py``: the engines that users declare; ``access.py``: a table's demands, compared with a release.
- ``spark_library.py``: releases of Spark and Delta, masters, and settings of a session.
- ``secret_settings.py``: settings that must not be shown.

Imports ``errors`` and ``text`` only, no table format. ``delta`` and the folders above it may import it, as do
``jobs``, ``hooks``, ``operators`` and ``command_line``.

- A new release of an engine: an entry of ``releases`` in ``profiles.json``; ``make measure`` compares it with the
  engine.
- A new kind of condition: a clause in ``conditions.py``, and its decision in ``delta/engine_conditions.py`` or
  ``delta/file_survey.py``.
- A new engine: a profile in ``profiles.json``, such as the short one of Fabric Dataflows. The keys are the fields of
  ``Profile`` and ``Release`` (``profile.py``). Then run ``python -m scripts.generated_docs`` and
  ``pytest tests/unit/engine``.
- A new setting of sessions: ``own_settings`` or ``missing_settings`` in ``spark_library.py``.
- A new form of secrets: ``is_secret`` in ``secret_settings.py``.
"""
