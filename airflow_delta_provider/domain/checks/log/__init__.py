"""``LG``: the log as a whole, and the files derived from its commits. PROTOCOL.md, Delta Log Entries.

- ``files.py``: names and damage of the log's own files.
- ``duplicate_files.py``: data files that are added, removed or live twice.
- ``history.py``: the part of the log that is kept, gaps, the part that an audit covered.
- ``checkpoints.py``, ``checksums.py``: checkpoints, log compaction files and checksums, compared with the commits.

Imports ``rule`` and ``check`` of ``checks``, one module of ``protocol``, ``domain/delta``, ``formats`` and
``report``. ``domain/audit``, the family ``row_tracking`` and ``jobs`` import it.

- A new rule about the names of log files: copy ``MALFORMED_NAME`` with ``check_names`` in ``files.py``.
- A new rule about a derived file: copy ``CONTRADICTING_COMPACTION`` in ``checkpoints.py``; the file is read by
  ``jobs/audit/derived_files.py``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope

CHECKPOINTS = "PROTOCOL.md, Checkpoints"
RECONCILIATION = "PROTOCOL.md, Action Reconciliation"

FAMILY = RuleFamily(
    "LG",
    "the log",
    "The log as a whole, and the files derived from its commits: whether they can be read, and describe one table "
    "together.",
    "PROTOCOL.md, Delta Log Entries",
)

#: Rules about more commits and checkpoints than a single commit.
HISTORY = FAMILY.of(Scope.HISTORY, needs=(Need.LOG,))

BRING_BACK = "Restore the file from a backup or another replica of the log."
