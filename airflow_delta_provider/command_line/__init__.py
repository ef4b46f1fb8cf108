"""``delta-provider``: audits and changes tables from a terminal or from CI.

- ``main.py`` finds the command, ``parser.py`` and ``arguments.py`` have its arguments, ``invocation.py`` adds the
  configuration file.
- ``table_command.py`` runs a job on tables, ``engine.py`` chooses Spark or Python, ``output.py`` shows the report.
- ``demo.py`` has ``demo``.
- ``completion.py`` completes words in a shell.
- ``output.py`` also has ``show``, and ``check_files.py`` has ``check-files``.
- ``rules.py`` has ``explain`` and ``rules``. They read ``rules.json``, which ``make docs`` writes.

Imports ``domain`` and ``jobs``. Only ``engine.py`` imports ``jobs/spark``, and only ``warm_up.py`` the Airflow side;
both import it late. Nothing imports this folder, except ``__main__.py`` of the package
and of ``jobs``.

- A new command that works on tables: an entry in ``KINDS`` (``domain/request/kinds.py``). Its parser follows from it.
- A new command without tables: a name like ``RULE_COMMANDS`` in ``parser.py``, its parser, and a branch in ``_run``
  of ``main.py``.
- A new option of one kind of job: see ``domain/request``. An option of all commands: a function like ``_add_output``
  in ``parser.py``.
- A new key of the configuration file: a field of ``Config`` (``domain/request/config_file.py``), used in
  ``invocation.py``.
- A new exit code: ``ExitCode`` and ``MEANINGS`` in ``exit_code.py``.
"""
