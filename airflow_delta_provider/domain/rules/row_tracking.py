"""``RT``: row tracking. PROTOCOL.md, Row Tracking."""

from __future__ import annotations

from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_SPEC = "PROTOCOL.md, Row Tracking"
_WRITERS = "PROTOCOL.md, Writer Requirements for Row Tracking"
_READERS = "PROTOCOL.md, Reader Requirements for Row Tracking"

_FAMILY = RuleFamily("RT", _WRITERS)
_error = _FAMILY.error
_warning = _FAMILY.warning
_undecided = RuleFamily("RT", _SPEC).undecided

# The state of a table.
ENABLED_WITHOUT_FEATURE = _error(1, "row tracking enabled without the feature", _SPEC)
ENABLED_AND_SUSPENDED = _error(2, "row tracking enabled and suspended", _SPEC)
NO_MATERIALIZED_NAMES = _error(3, "names of the materialized columns missing")
MATERIALIZED_NAME_TAKEN = _error(4, "name of a materialized column is taken")
MISSING_ROW_IDS = _error(5, "live file without baseRowId or defaultRowCommitVersion")
UNKNOWN_ROW_COUNT = _undecided(6, "number of rows not in the log")
ABOVE_HIGH_WATER_MARK = _error(7, "row ids above the high water mark")
OVERLAPPING_ROW_IDS = _error(8, "two files give out the same row ids")
COMMIT_VERSION_IN_FUTURE = _error(9, "defaultRowCommitVersion above the table's version")
NO_HIGH_WATER_MARK = _error(10, "no row id high water mark", f"{_WRITERS}; delta-io/delta#4923")

# A commit and the state before it.
ADDED_WITHOUT_ROW_IDS = _error(13, "file added without row ids")
REASSIGNED_BASE = _error(14, "row ids of a file changed")
REISSUED_ROW_IDS = _error(15, "row ids given out a second time")
OTHER_COMMIT_VERSION = _warning(16, "new file with another commit's defaultRowCommitVersion")
MATERIALIZED_NAMES_CHANGED = _warning(17, "names of the materialized columns changed")
NOT_PRESERVED = _warning(18, "row ids not preserved by a rewrite")

# The rows themselves.
DUPLICATE_ROW_IDS = _error(19, "row ids that are not unique")
IMPOSSIBLE_ROW_ID = _error(21, "row id negative or above the high water mark", _READERS)
FOREIGN_ROW_ID = _error(22, "rewritten row with a row id that was not there before")
FOREIGN_COMMIT_VERSION = _error(23, "row commit version of a moved row changed")
REPLACED_ROWS = _warning(24, "all rows replaced, none kept its row id", _SPEC)
MATERIALIZED_TYPE = _error(28, "materialized column of another type", _READERS)
KEY_CHANGED_ROW_ID = _error(29, "key with another row id than before", _SPEC)
HISTORY_UNREADABLE = _undecided(30, "stability cannot be decided", _SPEC)
KEY_INSERTED_AGAIN = _warning(31, "key deleted and inserted again, or given to another row", _SPEC)
KEY_OVERWRITTEN = _warning(32, "key overwritten, its row id is new", _SPEC)

# Nothing to prove.
ABSENT = _undecided(25, "no row tracking")
SUPPORTED_ONLY = _undecided(26, "row tracking supported, not enabled")
SUSPENDED = _undecided(27, "row tracking suspended")

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
