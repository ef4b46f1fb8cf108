"""Access to the files of tables: local file systems, object stores and fsspec, each without a JVM.

- ``storage.py``: ``Storage``, the interface of all storages; ``storages.py``: the storage for each location.
- ``local_storage.py``, ``object_storage.py``, ``fsspec_storage.py``, with ``remote_storage.py`` as their shared part.
- ``errors.py``: the meaning of errors of any client. ``state_store.py``: the state that jobs save for the next run.

Imports ``jobs/process.py``, and of ``domain`` only ``checks`` (refusals and faults), ``engine``, ``report``,
``errors`` and ``text``. No Spark and no table format. All folders of ``jobs`` above it import it, and so do
``command_line`` and ``watch/health.py``. Jobs read the files of tables through ``jobs/tables/table_storage.py``.

Both clients of object stores stay. obstore alone writes a file only if it has not changed, on all three clouds, and
needs no packages of its own. fsspec alone takes the credentials of Airflow's connections, and reads any other store.

- A new storage: a ``RemoteStorage`` like ``FsspecStorage``, chosen in ``Storages._open``.
- A new error of a client: a line in ``_CODES``, ``_STATUSES``, ``_CLASSES`` or ``_TEXTS`` (``errors.py``).
- A new operation: a method of ``Storage``; also in ``Storages``, ``TableStorage`` and ``HadoopStorage``.
- A new kind of saved state: a class with the methods of ``State`` (``state_store.py``).
"""
