"""``MD``: the metaData action. PROTOCOL.md, Change Metadata."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope, causes

_SPEC = "PROTOCOL.md, Change Metadata"
_ENTRIES = "PROTOCOL.md, Delta Log Entries"
_SCHEMA = "PROTOCOL.md, Schema Serialization Format"

FAMILY = RuleFamily(
    "MD",
    "metadata",
    "The metaData action: the table's id, schema, partition columns, format and properties.",
    _SPEC,
    compares=True,
)
_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)

_RESTORE = "RESTORE the table to the version before."

# The state of a table.
NO_ID = _state.error(
    1,
    "table id missing",
    effect="Streams, and whatever else remembers a table by its id, cannot tell it from another one.",
    remedy="RESTORE the table to the version before, or write the metadata again with an engine that gives it an id.",
)
BROKEN_SCHEMA = _state.error(
    2,
    "schema missing or damaged",
    effect="Most engines refuse to open the table.",
    remedy="RESTORE the table to a version before, or bring the file of the log back from a backup.",
    threads=("delta-io/delta#4231", "delta-io/delta-rs#1557"),
)
BAD_PARTITION_COLUMNS = _state.error(
    5,
    "partition columns that the schema does not have",
    effect="Engines refuse the table, do not agree on its partitions, or lose their values.",
    remedy="RESTORE the table to the version before, or rewrite it with other partitions.",
)
DUPLICATE_COLUMN = _state.error(
    6,
    "column name twice, regardless of case",
    effect="Which of the two a query gets is up to the engine, and most refuse the table.",
    remedy=_RESTORE,
    source=_SCHEMA,
)
OTHER_FORMAT = _state.warning(
    7,
    "format is not parquet",
    effect="Engines refuse the table, or read its files as plain Parquet all the same.",
    remedy="Copy it into a new table.",
    source="PROTOCOL.md, Format Specification",
)
NO_METADATA = _state.error(
    9,
    "no metaData action",
    effect="Nobody can tell which columns the table has.",
    remedy="Bring the missing files of the log back from a backup or another replica.",
    source="PROTOCOL.md, Action Reconciliation",
    follows_from=causes("MD04", later=True),
)
UNKNOWN_TYPE_OR_VALUE = _state.error(
    13,
    "unknown type, or property that is no text",
    effect="Readers refuse the table, or cannot parse its metadata.",
    remedy="RESTORE the table to the version before, or set the property again with ALTER TABLE … SET TBLPROPERTIES.",
    source=f"{_SPEC}; {_SCHEMA}",
)

# A commit, and a commit and the state before it.
SEVERAL_METADATA = _commit.error(
    3,
    "several metaData actions in a commit",
    effect="Which one counts is up to the reader, so that engines may see different schemas.",
    remedy="Set a table property with an up-to-date engine, which writes the metadata anew, and update the one that "
    "wrote the commit.",
    source=_ENTRIES,
    threads=("delta-io/delta-rs#3785",),
)
FIRST_WITHOUT_METADATA = _commit.error(
    4,
    "first version without metaData action",
    effect="Nobody can tell which columns the table has, and engines refuse to open it.",
    remedy="Bring the file back from a backup or another replica of the log.",
    of_first_commit=True,
)
ID_CHANGED = _pair.error(
    8,
    "table id changed",
    effect="Streams refuse to go on, and caches and shares take it for another table.",
    remedy="RESTORE the table to the version before; to replace all rows and keep the id, use INSERT OVERWRITE.",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
CREATED_TIME_CHANGED = _pair.warning(
    10,
    "createdTime changed",
    effect="Readers do not mind; what asks for the table's age gets a wrong answer.",
    remedy="Nothing has to be done.",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
PARTITIONING_CHANGED = _pair.error(
    11,
    "partition columns changed under live files",
    effect="The values of these columns read NULL in older files, or the files are skipped or refused.",
    remedy="RESTORE the table to the version before; to change partitions, rewrite the whole table.",
    source="PROTOCOL.md, Consistency Between Table Metadata and Data Files",
    threads=("delta-io/delta-rs#2468",),
    follows_from=causes("MD17"),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
)
NOTHING_CHANGED = _pair.warning(
    12,
    "metaData action that changes nothing",
    effect="Every writer at work on the table meanwhile fails, since the metadata seems to have changed.",
    remedy="Leave such commits out.",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
CLUSTERED_AND_PARTITIONED = _state.error(
    14,
    "clustered and partitioned",
    effect="Engines refuse the table, or no longer cluster it.",
    remedy="Rewrite the table with the one or the other; ALTER TABLE … CLUSTER BY NONE takes clustering away.",
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
    shows="domainMetadata",
)
IDENTITY_SET_BACK = _pair.warning(
    15,
    "identity column set back",
    effect="The next rows get values that other rows have.",
    remedy="Raise the mark: ALTER TABLE … ALTER COLUMN … SYNC IDENTITY.",
    source="PROTOCOL.md, Identity Columns",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
COLUMN_LOST = _pair.warning(
    16,
    "column gone from the schema, not from the files",
    effect="Its values can no longer be read, and come back under the next column of its name, or make it unreadable.",
    remedy="RESTORE the table to the version before; to drop a column, enable column mapping first.",
    source="PROTOCOL.md, Consistency Between Table Metadata and Data Files",
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
FIELD_MISSING = _state.error(
    17,
    "required field missing",
    effect="Engines cannot open the table: Delta Spark ends with an internal error.",
    remedy="Bring the file of the log back from a backup, or write a metaData action that has all required fields.",
)
BROKEN_IDENTITY = _state.error(
    18,
    "identity column that gives out no values",
    effect="Engines fail to write rows, or give all of them the same value.",
    remedy="RESTORE the table to the version before.",
    source="PROTOCOL.md, Identity Columns",
)
