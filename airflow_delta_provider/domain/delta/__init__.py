"""The Delta transaction log protocol as values and pure functions (PROTOCOL.md of delta-io/delta).

- ``commit.py``, ``live_file.py``, ``protocol.py``, ``metadata.py``: actions and commits.
- ``table_state.py``, ``table_head.py``, ``snapshot.py``: sums of commits, from a full state to the newest head;
  ``packed_files.py``, ``partial_files.py``: their files, if they are many.
- ``log_files.py``, ``derived_files.py``, ``checkpoint_comparison.py``: the files of a log.
- ``data_type.py``, ``sql_type.py``, ``expression.py``, ``partition_value.py``, ``table_properties.py``: parts of
  metadata.
- ``features``, ``table_features.py``, ``feature_traces.py``: table features, their state and their traces.
- ``engine_conditions.py``, ``file_survey.py``: the conditions of engines, decided from metadata or from files.
- ``head_condition.py``, ``table_events.py``: conditions and events for sensors and triggers.

Imports ``formats``, ``engine``, ``errors`` and ``text``. Reading checks nothing: rules are in ``checks``. Folders
above may import it, except Paimon's code and code that serves every format (contract "the shell imports no table
format").

- A new field of a file action: ``LiveFile`` in ``live_file.py``. A new action: ``KINDS`` in ``commit.py``.
- A new property: a constant in ``table_properties.py``, with a line in ``FORMS`` if its values have a form.
- A new data type: ``data_type.py`` and ``sql_type.py``. A new table feature: ``features``.
"""
