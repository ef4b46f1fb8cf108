"""The request to a job: the tables, the action, and checks that need no table.

- ``kinds.py``: all kinds of jobs, and the places of their options, jobs and operators, by name.
- ``job_request.py``: the file that a submission carries.
- ``option.py``: an option and the types of options. ``options.py``, ``check_options.py``, ``change_options.py``,
  ``migration_options.py``: the options of each kind.
- ``config_file.py``: the configuration file of the command line.

Imports ``spec``, ``audit`` (waivers), ``checks``, ``delta``, ``engine``, ``formats`` and ``report``; not ``paimon``,
``changes`` or ``migrations``. ``kinds.py`` names jobs and operators as strings, and imports none. ``changes``,
``migrations``, ``jobs``, ``command_line`` and the Airflow side import it.

- A new option: a field made by ``option(…)``, like ``verify`` of ``WidenTypesOptions`` (``change_options.py``), and
  an argument of the operator.
- A new type of options: a ``Value`` like ``Days`` in ``option.py``.
- A new kind of job: an ``Options`` class, and an entry in ``KINDS`` (``kinds.py``); see "Add a job kind" in
  CONTRIBUTING.md.
"""
