"""``CM``: column mapping. PROTOCOL.md, Column Mapping."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.column_mapping import healing
from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY, PATH, READERS, RESTORE, SPEC, WRITE_AGAIN
from airflow_delta_provider.domain.checks.healing import Healing
from airflow_delta_provider.domain.checks.metadata import rules as metadata
from airflow_delta_provider.domain.checks.protocol import rules as protocol
from airflow_delta_provider.domain.checks.rule import Need, Scope, causes

_state = FAMILY.of(Scope.STATE)
_commit = FAMILY.of(Scope.COMMIT)
_pair = FAMILY.of(Scope.PAIR)
_history = FAMILY.of(Scope.HISTORY)
_data = FAMILY.of(Scope.DATA)

_NO_COLUMN = "Add no column, and RESTORE the table to the version before."

# The state of a table.
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
    remedy=RESTORE,
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
    remedy=RESTORE,
    needs=(Need.STATE, Need.FILES, Need.VERSIONS),
    about_older_files=True,
)
ID_CHANGED = _pair.error(
    12,
    "id of a physical path changed",
    effect="Readers that go by id read NULL, or another column's values, from older files.",
    remedy=RESTORE,
    source=SPEC,
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
    remedy=WRITE_AGAIN,
    follows_from=causes(metadata.FIELD_MISSING, later=True),
    about_live_files=True,
)
STATISTICS = _commit.error(
    15,
    "statistics not by physical name",
    effect="Readers cannot skip the file, or skip rows that should be read.",
    remedy=WRITE_AGAIN,
)

# The whole history.
REUSED_PATH = _history.error(
    16,
    "physical path of a dropped column used again",
    effect="Dropped values come back in the new column, or the table cannot be read where the types differ.",
    remedy="Drop the column, and let an engine with column mapping add it under a physical name of its own.",
    source=PATH,
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
    source=READERS,
    follows_from=causes("CM09", "CM11", "CM12", "CM01", later=True, earlier=True),
)

# A table after a job changed its columns.
NOT_AS_ASKED = FAMILY.of(Scope.OUTCOME).error(
    19,
    "columns not as they were asked for",
    effect="Who reads the table by the new names fails, or reads what was to be dropped.",
    remedy="Look at the table's history for another writer, then run the job again.",
)
