"""``TW``: type widening. PROTOCOL.md, Type Widening."""

from __future__ import annotations

from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_SPEC = "PROTOCOL.md, Type Widening"
_RECORD = "PROTOCOL.md, Type Change Metadata"
_WRITERS = "PROTOCOL.md, Writer Requirements for Type Widening"
_READERS = "PROTOCOL.md, Reader Requirements for Type Widening"

_FAMILY = RuleFamily("TW", _RECORD)
_error = _FAMILY.error
_warning = _FAMILY.warning

# The state of a table.
ENABLED_WITHOUT_FEATURE = _error(1, "type widening enabled without the feature", _SPEC)
RECORD_WITHOUT_FEATURE = _warning(2, "delta.typeChanges without the feature", _SPEC)
MALFORMED_RECORD = _error(3, "delta.typeChanges malformed")
UNSUPPORTED_RECORD = _error(4, "unsupported change in delta.typeChanges", f"{_READERS}; delta-io/delta#3744")
UNRESOLVED_FIELD_PATH = _error(5, "fieldPath that leads nowhere")
BROKEN_CHAIN = _warning(6, "recorded type changes do not follow on each other")
OTHER_LAST_TYPE = _warning(7, "last recorded type is not the column's type")
PREVIEW_LEFTOVER = _warning(10, "tableVersion left from the preview feature")
ICEBERG_COMPATIBILITY = _error(13, "type change that Iceberg compatibility forbids", _WRITERS)
TIMESTAMP_WITHOUT_FEATURE = _error(
    14, "widened to timestamp_ntz without timestampNtz", "PROTOCOL.md, Timestamp without timezone"
)

# A commit and the state before it.
UNSUPPORTED_CHANGE = _error(8, "unsupported change of a type", _WRITERS)
UNRECORDED_TYPE_CHANGE = _error(9, "type change not recorded in delta.typeChanges")
CHANGE_NOT_ENABLED = _error(11, "type changed while type widening was not enabled", f"{_SPEC}; delta-io/delta#7127")
LOST_TYPE_CHANGES = _error(12, "earlier delta.typeChanges lost or rewritten")
RECORD_LEFT_BY_DROP = _error(15, "feature dropped, its traces left", _WRITERS)

# After a change that a job made.
TYPE_NOT_CHANGED = _error(17, "column has not the type it was widened to", "")
VALUES_CHANGED = _error(18, "values read differently after widening", _READERS)

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
