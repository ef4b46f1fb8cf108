"""``CM``: column mapping. PROTOCOL.md, Column Mapping.

- ``state.py``: ids and physical names in one version; ``changes.py``: changes that a commit must not make.
- ``names.py``: the names in ``add`` actions and data files.
- ``disabling.py``: family ``UM``, for the jobs that disable column mapping or report its usage.

Imports ``rule`` and ``check`` of ``checks``, ``domain/delta`` and ``report``. ``domain/audit``, ``domain/changes``
and the family ``data_files`` import it.

- A new rule about one version: copy ``NO_ID`` in ``state.py``. About a change: copy ``ID_CHANGED`` in ``changes.py``.
- A new rule about disabling: copy ``REUSED_PATH`` in ``disabling.py``.
"""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RepairMethod, Restore, RuleFamily

SPEC = "PROTOCOL.md, Column Mapping"
WRITERS = "PROTOCOL.md, Writer Requirements for Column Mapping"
READERS = "PROTOCOL.md, Reader Requirements for Column Mapping"
PATH = "PROTOCOL.md, Field Path"

FAMILY = RuleFamily(
    "CM",
    "column mapping",
    "Ids and physical names of columns, and the names under which data files store columns. If they are wrong, columns "
    "read NULL or the values of another column, mostly without an error.",
    WRITERS,
    compares=True,
    repairs=(RepairMethod.EARLIER_VALUES,),
)

RESTORE = Restore()
DO_NOT_ADD = Restore(first="Do not add columns.")
WRITE_AGAIN = Restore(", and write the rows again with an engine that supports column mapping")
