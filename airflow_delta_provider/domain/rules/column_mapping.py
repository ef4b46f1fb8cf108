"""``CM``: column mapping. PROTOCOL.md, Column Mapping."""

from __future__ import annotations

from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_SPEC = "PROTOCOL.md, Column Mapping"
_WRITERS = "PROTOCOL.md, Writer Requirements for Column Mapping"
_READERS = "PROTOCOL.md, Reader Requirements for Column Mapping"
_PATH = "PROTOCOL.md, Field Path"

_FAMILY = RuleFamily("CM", _WRITERS)
_error = _FAMILY.error
_warning = _FAMILY.warning

# The state of a table.
UNSUPPORTED_MODE = _error(1, "column mapping without protocol support", _SPEC)
NO_ID = _error(2, "column id missing or no 32-bit integer", _SPEC)
NO_PHYSICAL_NAME = _error(3, "physical name missing", _SPEC)
DUPLICATE_ID = _error(4, "two columns have the same id", _SPEC)
DUPLICATE_PATH = _error(5, "two columns have the same physical path", f"{_PATH}; delta-io/delta#6939")
NO_MAX_COLUMN_ID = _error(6, "maxColumnId missing")
MAX_COLUMN_ID_TOO_LOW = _error(7, "maxColumnId below a column's id")
LEFT_METADATA = _warning(8, "mapping metadata left in mode none", f"{_READERS}; delta-io/delta#3688")
CLUSTERING_NAMES = _error(17, "clustering columns not by physical name")

# A commit and the state before it.
ILLEGAL_MODE_CHANGE = _error(9, "illegal change of the mapping mode")
MAX_COLUMN_ID_LOWERED = _error(10, "maxColumnId lowered")
PHYSICAL_NAME_CHANGED = _error(11, "physical name of a column changed")
ID_CHANGED = _error(12, "id of a physical path changed", _SPEC)
REUSED_ID = _warning(13, "new column with an old id")
PARTITION_VALUES = _error(14, "partition values not by physical name")
STATISTICS = _error(15, "statistics not by physical name")

# The whole history.
REUSED_PATH = _error(16, "physical path of a dropped column used again", _PATH)

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
