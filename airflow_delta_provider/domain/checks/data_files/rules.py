"""``DF``: data files and deletion vectors that are not what the log says of them."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

FAMILY = RuleFamily("DF", "data files", "Data files and deletion vectors that are not what the log says of them.")
_data = FAMILY.of(Scope.DATA)

_AFTER_LOSS = "RESTORE the table to a version before the file was added, or bring the file back from a backup."

MISSING = _data.error(
    1,
    "data file missing",
    effect="Reading the table fails.",
    remedy=_AFTER_LOSS,
    source="PROTOCOL.md, Add File and Remove File",
)
DAMAGED = _data.error(
    2,
    "data file damaged",
    effect="Reading the file, and with it the table, fails.",
    remedy=_AFTER_LOSS,
    source="PROTOCOL.md, Data Files",
)
ROW_COUNT = _data.error(
    3,
    "numRecords is not the file's row count",
    effect="Engines that count or skip by statistics answer wrongly, and row ids may be given out twice.",
    remedy="Rewrite the file: OPTIMIZE, or an UPDATE of its rows that leaves them as they are.",
    source="PROTOCOL.md, Per-file Statistics",
)
DELETION_VECTOR = _data.error(
    4,
    "deletion vector cannot be read",
    effect="Which rows of the file are deleted is lost, and reading the table fails.",
    remedy="RESTORE the table to a version before the vector was written.",
    source="PROTOCOL.md, Deletion Vectors",
)
ENCRYPTED = _data.undecided(
    5,
    "data file encrypted",
    effect="The rows of the file are not part of the proof; readers that have its keys do not mind.",
    remedy="Rewrite the file without encryption if its rows have to be part of the proof.",
)
