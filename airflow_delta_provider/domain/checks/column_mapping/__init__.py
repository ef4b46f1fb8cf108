"""``CM``: column mapping. PROTOCOL.md, Column Mapping."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Restore, RuleFamily

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
)

RESTORE = Restore()
DO_NOT_ADD = Restore(first="Do not add columns.")
WRITE_AGAIN = Restore(", and write the rows again with an engine that supports column mapping")
