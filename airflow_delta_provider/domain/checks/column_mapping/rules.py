"""``CM``: column mapping. PROTOCOL.md, Column Mapping."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.column_mapping import healing
from airflow_delta_provider.domain.checks.healing import Healing
from airflow_delta_provider.domain.checks.metadata import rules as metadata
from airflow_delta_provider.domain.checks.protocol import rules as protocol
from airflow_delta_provider.domain.checks.rule import Need, RuleFamily, Scope, causes

_SPEC = "PROTOCOL.md, Column Mapping"
_WRITERS = "PROTOCOL.md, Writer Requirements for Column Mapping"
_READERS = "PROTOCOL.md, Reader Requirements for Column Mapping"
_PATH = "PROTOCOL.md, Field Path"

FAMILY = RuleFamily(
    "CM",
    "column mapping",
    "Ids and physical names of columns, and what data files know columns by. Where they are wrong, columns read NULL "
    "or the values of another column, mostly without an error.",
    _WRITERS,
    compares=True,
)
_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)
_history = FAMILY.of(Scope.HISTORY)
_data = FAMILY.of(Scope.DATA)

_RESTORE = "RESTORE the table to the version before."
_NO_COLUMN = "Add no column, and RESTORE the table to the version before."
_ADD_AGAIN = "RESTORE the table to the version before, or let an engine with column mapping add the column again."
_WRITE_AGAIN = (
    "RESTORE the table to the version before, and write the rows again with an engine that has column mapping."
)

# The state of a table.
UNSUPPORTED_MODE = _state.error(
    1,
    "column mapping without protocol support",
    effect="Some readers honour the mode and others do not, so that columns may read NULL.",
    remedy="RESTORE the table to the version before, or enable the feature columnMapping.",
    source=_SPEC,
    follows_from=causes(protocol.FEATURE_VANISHED, protocol.VERSION_LOWERED, *protocol.LISTS),
)
NO_ID = _state.error(
    2,
    "column id missing or no 32-bit integer",
    effect="Engines refuse the table, or find no values of the column where they search by id.",
    remedy=_ADD_AGAIN,
    source=_SPEC,
)
NO_PHYSICAL_NAME = _state.error(
    3,
    "physical name missing",
    effect="Nobody can tell under which name the column lies in data files: engines refuse the table or read NULL.",
    remedy=_ADD_AGAIN,
    source=_SPEC,
    follows_from=causes("CM09", "CM02"),
)
DUPLICATE_ID = _state.error(
    4,
    "two columns have the same id",
    effect="Readers that go by id take one column's values for the other's, and the table can no longer be altered.",
    remedy=_RESTORE,
    source=_SPEC,
)
DUPLICATE_PATH = _state.error(
    5,
    "two columns have the same physical path",
    effect="Both columns read the same values, and writes fail or mix them.",
    remedy=_RESTORE,
    source=_PATH,
    threads=("delta-io/delta#6939",),
    follows_from=causes("CM04"),
)
NO_MAX_COLUMN_ID = _state.error(
    6,
    "maxColumnId missing",
    effect="The next column that is added may get the id of a dropped one, and its values.",
    remedy=_RESTORE,
    follows_from=causes("CM09"),
)
MAX_COLUMN_ID_TOO_LOW = _state.error(
    7,
    "maxColumnId below a column's id",
    effect="The next column that is added gets an id that exists already, and readers mix the two up.",
    remedy=_NO_COLUMN,
    follows_from=causes("CM10", "CM04", "CM12"),
)
LEFT_METADATA = _state.warning(
    8,
    "mapping metadata left in mode none",
    effect="Columns of files under physical names read NULL, and engines that overlook the mode may search wrongly.",
    remedy="RESTORE the table to the version before if columns read NULL since then; else remove the keys with the "
    "next change of the schema.",
    source=_READERS,
    threads=("delta-io/delta#3688",),
    follows_from=causes("CM09"),
)
CLUSTERING_NAMES = _state.error(
    17,
    "clustering columns not by physical name",
    effect="The table reads, but OPTIMIZE, DESCRIBE DETAIL and ALTER TABLE … CLUSTER BY fail, or it is no longer "
    "clustered.",
    remedy="RESTORE the table to the version before, or write it anew with CREATE OR REPLACE TABLE and CLUSTER BY.",
    source="PROTOCOL.md, Writer Requirements for Clustered Table",
    follows_from=causes("CM03", "CM11"),
    shows="domainMetadata",
)

# A commit and the state before it.
ILLEGAL_MODE_CHANGE = _pair.error(
    9,
    "illegal change of the mapping mode",
    effect="Columns read NULL in files that were not written for the new mode.",
    remedy=_RESTORE,
    follows_from=causes("CM20", metadata.FIELD_MISSING),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
    leads_to=(protocol.NOT_ICEBERG_COMPATIBLE,),
)
MAX_COLUMN_ID_LOWERED = _pair.error(
    10,
    "maxColumnId lowered",
    effect="The next column that is added gets an id that another one has or had, and may get its values.",
    remedy=_NO_COLUMN,
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
PHYSICAL_NAME_CHANGED = _pair.error(
    11,
    "physical name of a column changed",
    effect="Older files have the column under the old name, so it reads NULL there.",
    remedy=_RESTORE,
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
)
ID_CHANGED = _pair.error(
    12,
    "id of a physical path changed",
    effect="Readers that go by id read NULL, or another column's values, from older files.",
    remedy=_RESTORE,
    source=_SPEC,
    follows_from=causes("CM11"),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
)
REUSED_ID = _pair.warning(
    13,
    "new column with an old id",
    effect="Readers that go by id take what older files hold of a dropped column for values of the new one.",
    remedy="Look for files older than the commit; an engine with column mapping takes the next free id.",
    follows_from=causes("CM10"),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
)
PARTITION_VALUES = _commit.error(
    14,
    "partition values not by physical name",
    effect="The partition columns read NULL for the rows of the file, and filters miss them.",
    remedy=_WRITE_AGAIN,
    follows_from=causes(metadata.FIELD_MISSING, later=True),
    about_live_files=True,
)
STATISTICS = _commit.error(
    15,
    "statistics not by physical name",
    effect="Readers cannot skip the file, or skip rows that should be read.",
    remedy=_WRITE_AGAIN,
)

# The whole history.
REUSED_PATH = _history.error(
    16,
    "physical path of a dropped column used again",
    effect="Dropped values come back in the new column, or the table cannot be read where the types differ.",
    remedy="Drop the column, and let an engine with column mapping add it under a physical name of its own.",
    source=_PATH,
    healing=Healing(healing.until_path_is_free, needs_details=True),
    needs=(Need.STATE, Need.FILES, Need.VERSIONS, Need.COLUMN_IDS),
)

# The data files of a table.
NOT_FOUND_IN_FILE = _data.error(
    18,
    "data file without the ids or names that columns are found by",
    effect="Readers refuse the file, or read NULL or another column's values from it.",
    remedy="RESTORE the table to a version before the file was added, and write its rows again with an engine that has "
    "column mapping.",
    source=_READERS,
    follows_from=causes("CM09", "CM11", "CM12", "CM01", later=True, earlier=True),
)

# A table after a job changed its columns.
NOT_AS_ASKED = FAMILY.of(Scope.OUTCOME).error(
    19,
    "columns not as they were asked for",
    effect="Who reads the table by the new names fails, or reads what was to be dropped.",
    remedy="Look at the table's history for another writer, then run the job again.",
)
UNKNOWN_MODE = _state.error(
    20,
    "unknown mapping mode",
    effect="Engines refuse to open the table.",
    remedy="Bring the file of the log back from a backup or another replica, and update the engine that wrote it.",
    source="PROTOCOL.md, Column Mapping",
)
