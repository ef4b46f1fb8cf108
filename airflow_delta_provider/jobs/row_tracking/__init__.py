"""The kind ``check-row-tracking``: reads the input of the rules and of the proof of row ids.

- ``check.py``: ``run``, the job; ``LiveIds``, the ids of the live files, which audits also use.
- ``row_proofs.py``: footers of data files, and ``RowProofs``, the port to the engine that reads rows.

Imports ``jobs/delta``, ``jobs/storage``, ``jobs/process.py``, and ``domain``, mainly ``checks/row_tracking`` and
``audit``. No Spark: ``jobs/spark/row_tracking`` implements the port. ``jobs/audit`` and ``jobs/spark`` import it.

- A new rule about row ids: ``domain/checks/row_tracking``; ``RowTrackingCheck`` (``check.py``) passes its input.
- A fact that only rows can prove: a method of ``RowProofs``, like ``unique_ids``, implemented by ``SparkRowProofs``
  in ``jobs/spark/row_tracking/row_proofs.py``.
- A new option: ``CheckRowTrackingOptions`` in ``domain/request/check_options.py``.
"""
