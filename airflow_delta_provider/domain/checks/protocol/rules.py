"""``TF``: the protocol action and table features. PROTOCOL.md, Protocol Evolution and Table Features."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope, causes

_EVOLUTION = "PROTOCOL.md, Protocol Evolution"
_FEATURES = "PROTOCOL.md, Table Features"
_SUPPORTED = "PROTOCOL.md, Supported Features"
_NEW_TABLES = "PROTOCOL.md, Table Features for New and Existing Tables"
_NAMES = "PROTOCOL.md, Valid Feature Names in Table Features"
_RECONCILIATION = "PROTOCOL.md, Action Reconciliation"

FAMILY = RuleFamily(
    "TF",
    "protocol and table features",
    "The protocol action: who may read and write the table, and what they have to know for it.",
    shows="protocol",
    compares=True,
)
_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)
_outcome = FAMILY.of(Scope.OUTCOME)

_LIST_FEATURES = "Write a protocol action that lists the features in use."
_LIST_IN_BOTH = "Enable the feature again with an engine that lists it for readers and for writers."
_ENABLE = "Enable the feature."
_ENABLE_AGAIN = "Enable the feature again; to give it up for good: ALTER TABLE … DROP FEATURE."
_NEWER_PROVIDER = "Look whether a newer release of the provider knows it."
_RUN_AGAIN = "Run the job again; if it stays so, look in the table's history for a writer that takes it back."

# The state of a table.
NO_READER_FEATURES = _state.error(
    1,
    "reader version 3 without readerFeatures",
    effect="Nobody can tell which features readers have to honour, and strict engines refuse the table.",
    remedy=_LIST_FEATURES,
    source=_FEATURES,
)
NO_WRITER_FEATURES = _state.error(
    2,
    "writer version 7 without writerFeatures",
    effect="Nobody can tell which features writers have to keep to, and strict engines refuse the table.",
    remedy=_LIST_FEATURES,
    source=_FEATURES,
)
READER_FEATURES_NOT_ALLOWED = _state.error(
    3,
    "readerFeatures below reader version 3",
    effect="Some engines refuse the table; others ignore the list, and may read it wrongly.",
    remedy="Write a protocol action without the list, or with reader version 3 and writer version 7.",
    source=_EVOLUTION,
    threads=("delta-io/delta-rs#3354", "duckdb/duckdb-delta#151"),
)
WRITER_FEATURES_NOT_ALLOWED = _state.error(
    4,
    "writerFeatures below writer version 7",
    effect="Some engines refuse the table; others ignore the list, and write without its features.",
    remedy="Write a protocol action without the list, or with writer version 7.",
    source=_EVOLUTION,
)
WRITER_VERSION_TOO_LOW = _state.error(
    5,
    "reader version 3 with a writer version below 7",
    effect="Engines refuse the table, or write it without its features.",
    remedy="Write a protocol action with writer version 7 that lists the features in use; RESTORE would keep this one.",
    source=_NEW_TABLES,
)
READER_FEATURE_ONLY = _state.error(
    6,
    "feature for readers, but not for writers",
    effect="Writers do not know that they have to keep to the feature, and strict engines refuse the table.",
    remedy=_LIST_IN_BOTH,
    source=_SUPPORTED,
)
WRITER_FEATURE_ONLY = _state.warning(
    7,
    "reader feature listed for writers only",
    effect="Readers that do not know the feature open the table all the same, and may read it wrongly.",
    remedy=_LIST_IN_BOTH,
    source=_SUPPORTED,
    threads=("trinodb/trino#24910", "delta-io/delta-kernel-rs#3097"),
)
MISSING_DEPENDENCY = _state.error(
    8,
    "a feature's dependency is missing",
    effect="Engines refuse the table, or write it without what the feature rests on.",
    remedy="Add the feature that is required to the protocol.",
    source=_FEATURES,
    follows_from=causes("TF11", "TF12", "TF14"),
)
NO_PROTOCOL = _state.error(
    13,
    "no protocol action",
    effect="Nobody can tell what it takes to read the table.",
    remedy="Bring the missing files of the log back from a backup or another replica.",
    source=_RECONCILIATION,
    follows_from=causes("TF10", later=True),
)
ORPHAN_PROPERTY = _state.warning(
    15,
    "property of a feature that the table lacks",
    effect="Some engines go by the property and others by the protocol, and some refuse the table.",
    remedy="Enable the feature, or unset the property.",
    source=_FEATURES,
    threads=("trinodb/trino#23622",),
    follows_from=causes("TF11", "TF12", "TF14"),
    shows="metaData",
)
PREVIEW_AND_STABLE = _state.warning(
    16,
    "a feature and its preview both listed",
    effect="Whoever does not know the preview is locked out for nothing, and engines differ in which they follow.",
    remedy="Drop the preview: ALTER TABLE … DROP FEATURE.",
    source=_NAMES,
)
UNKNOWN_FEATURE = _state.undecided(
    17,
    "unknown feature",
    effect="Engines that do not know the feature refuse the table, and what it demands cannot be judged.",
    remedy="Look whether another name is meant, or whether a newer release of the provider knows it.",
    source=_NAMES,
    threads=("delta-io/delta-kernel-rs#2557",),
)
UNKNOWN_VERSION = _state.undecided(
    20,
    "unknown protocol version",
    effect="What such a protocol demands of readers and writers cannot be judged.",
    remedy=_NEWER_PROVIDER,
    source=_EVOLUTION,
)
WRITERS_FEATURE_FOR_READERS = _state.warning(
    21,
    "writer feature listed for readers",
    effect="Readers that do not know the feature refuse the table without need.",
    remedy="Write a protocol action that lists the feature for writers only.",
    source=_SUPPORTED,
)
FEATURE_NEEDED = _state.error(
    22,
    "column or constraint that needs a feature the table lacks",
    effect="Some engines refuse the table, others do not keep to what the column or constraint asks for.",
    remedy=_ENABLE,
    source=_FEATURES,
    threads=("delta-io/delta-kernel-rs#2189", "trinodb/trino#20898", "delta-io/delta-rs#2882"),
    follows_from=causes("TF11", "TF12", "TF14"),
    shows="metaData",
)

# A commit, and a commit and the state before it.
SEVERAL_PROTOCOLS = _commit.error(
    9,
    "several protocol actions in a commit",
    effect="Which one counts is up to the reader, so that some ignore a feature that others keep to.",
    remedy="Write one protocol action that lists the features in use, and update the engine that wrote the commit.",
    source="PROTOCOL.md, Delta Log Entries",
    survives_replacement=True,
)
FIRST_WITHOUT_PROTOCOL = _commit.error(
    10,
    "first version without protocol action",
    effect="Nobody can tell what it takes to read the table, and engines refuse it.",
    remedy="Bring the file back from a backup or another replica of the log.",
    source=_RECONCILIATION,
    of_first_commit=True,
)
FEATURE_VANISHED = _pair.warning(
    11,
    "feature vanished from the protocol",
    effect="Files and properties that need the feature may still be there, and engines no longer know.",
    remedy=_ENABLE_AGAIN,
    source=_SUPPORTED,
    needs=(Need.STATE, Need.VERSIONS),
)
VERSION_LOWERED = _pair.warning(
    12,
    "protocol version lowered",
    effect="Engines that do not know the features given up may read and write the table again, wrongly so.",
    remedy=_ENABLE_AGAIN,
    source=_EVOLUTION,
    threads=("delta-io/delta#1432",),
    needs=(Need.STATE, Need.VERSIONS),
)
USED_FEATURE_NOT_LISTED = _pair.warning(
    14,
    "feature in use not listed after an upgrade",
    effect="Writers no longer keep to a feature that the table makes or made use of.",
    remedy=_ENABLE,
    source=_NEW_TABLES,
    needs=(Need.STATE, Need.VERSIONS, Need.USED_FEATURES),
)

# What a job verifies after its own work.
FEATURE_NOT_ENABLED = _outcome.error(
    18,
    "feature not enabled after it was enabled",
    effect="What relies on the feature does not get it.",
    remedy=_RUN_AGAIN,
)
PROPERTY_NOT_SET = _outcome.error(
    19,
    "property not as it was set",
    effect="What relies on the property finds another value.",
    remedy=_RUN_AGAIN,
)
FEATURE_NOT_DROPPED = _outcome.error(
    23,
    "feature not gone after it was dropped",
    effect="Engines that do not know the feature stay locked out.",
    remedy=_RUN_AGAIN,
)
DROP_WAITS = _outcome.undecided(
    24,
    "feature waits for its history to be truncated",
    effect="The table no longer uses the feature, but engines that do not know it stay locked out until it is dropped.",
    remedy="Run the same job again at the time that the message names.",
)

NOT_ICEBERG_COMPATIBLE = _state.error(
    25,
    "Iceberg compatibility with what does not go with it",
    effect="The table cannot be converted for readers of Iceberg, and Delta's writers refuse to go on.",
    remedy="Take back what does not go with it, or set delta.enableIcebergCompatV1 or -V2 to false.",
    source="PROTOCOL.md, Iceberg Compatibility V1 and V2",
    follows_from=causes("TF11", "TF12"),
    shows="metaData",
)

#: What is wrong with the lists of features: then nobody can tell which of them the table has.
LISTS = (
    NO_READER_FEATURES,
    NO_WRITER_FEATURES,
    READER_FEATURES_NOT_ALLOWED,
    WRITER_FEATURES_NOT_ALLOWED,
    WRITER_VERSION_TOO_LOW,
    READER_FEATURE_ONLY,
)
