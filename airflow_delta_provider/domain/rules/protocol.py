"""``TF``: the protocol action and table features. PROTOCOL.md, Protocol Evolution and Table Features."""

from __future__ import annotations

from airflow_delta_provider.domain.rules.rule import Rule, RuleFamily

_EVOLUTION = "PROTOCOL.md, Protocol Evolution"
_FEATURES = "PROTOCOL.md, Table Features"
_SUPPORTED = "PROTOCOL.md, Supported Features"
_NEW_TABLES = "PROTOCOL.md, Table Features for New and Existing Tables"
_NAMES = "PROTOCOL.md, Valid Feature Names in Table Features"

_FAMILY = RuleFamily("TF")
_error = _FAMILY.error
_warning = _FAMILY.warning
_undecided = _FAMILY.undecided

# The state of a table.
NO_READER_FEATURES = _error(1, "reader version 3 without readerFeatures", _FEATURES)
NO_WRITER_FEATURES = _error(2, "writer version 7 without writerFeatures", _FEATURES)
READER_FEATURES_NOT_ALLOWED = _error(
    3, "readerFeatures below reader version 3", f"{_EVOLUTION}; delta-io/delta-rs#3354, duckdb/duckdb-delta#151"
)
WRITER_FEATURES_NOT_ALLOWED = _error(4, "writerFeatures below writer version 7", _EVOLUTION)
WRITER_VERSION_TOO_LOW = _error(5, "reader version 3 with a writer version below 7", _NEW_TABLES)
READER_FEATURE_ONLY = _error(6, "feature for readers, but not for writers", _SUPPORTED)
WRITER_FEATURE_ONLY = _warning(
    7, "reader feature listed for writers only", f"{_SUPPORTED}; trinodb/trino#24910, delta-io/delta-kernel-rs#3097"
)
MISSING_DEPENDENCY = _error(8, "a feature's dependency is missing", _FEATURES)
NO_PROTOCOL = _error(13, "no protocol action", "PROTOCOL.md, Action Reconciliation")
ORPHAN_PROPERTY = _warning(15, "property of a feature that the table lacks", f"{_FEATURES}; trinodb/trino#23622")
PREVIEW_AND_STABLE = _warning(16, "a feature and its preview both listed", _NAMES)
UNKNOWN_FEATURE = _undecided(17, "unknown feature", f"{_NAMES}; delta-io/delta-kernel-rs#2557")
UNKNOWN_VERSION = _undecided(20, "unknown protocol version", _EVOLUTION)
WRITERS_FEATURE_FOR_READERS = _warning(21, "writer feature listed for readers", _SUPPORTED)
FEATURE_NEEDED = _error(
    22,
    "column or constraint that needs a feature the table lacks",
    f"{_FEATURES}; delta-io/delta-kernel-rs#2189, trinodb/trino#20898, delta-io/delta-rs#2882",
)

# A commit, and a commit and the state before it.
SEVERAL_PROTOCOLS = _error(9, "several protocol actions in a commit", "PROTOCOL.md, Delta Log Entries")
FIRST_WITHOUT_PROTOCOL = _error(10, "first version without protocol action", "PROTOCOL.md, Action Reconciliation")
FEATURE_VANISHED = _warning(11, "feature vanished from the protocol", _SUPPORTED)
VERSION_LOWERED = _warning(12, "protocol version lowered", f"{_EVOLUTION}; delta-io/delta#1432")
USED_FEATURE_NOT_LISTED = _warning(14, "feature in use not listed after an upgrade", _NEW_TABLES)

# What a job verifies after its own work.
FEATURE_NOT_ENABLED = _error(18, "feature not enabled after it was enabled")
PROPERTY_NOT_SET = _error(19, "property not as it was set")

RULES = tuple(rule for rule in list(globals().values()) if isinstance(rule, Rule))
