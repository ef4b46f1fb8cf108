"""``DF``: data files and deletion vectors that are not what the log says of them."""

from __future__ import annotations

from airflow_delta_provider.domain.report.verdict import Severity
from airflow_delta_provider.domain.rules.rule import Rule

MISSING = Rule("DF01", Severity.ERROR, "data file missing", "PROTOCOL.md, Add File and Remove File")
DAMAGED = Rule("DF02", Severity.ERROR, "data file damaged", "PROTOCOL.md, Data Files")
ROW_COUNT = Rule("DF03", Severity.ERROR, "numRecords is not the file's row count", "PROTOCOL.md, Per-file Statistics")
DELETION_VECTOR = Rule("DF04", Severity.ERROR, "deletion vector cannot be read", "PROTOCOL.md, Deletion Vectors")
ENCRYPTED = Rule("DF05", Severity.UNDECIDED, "data file encrypted")

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
