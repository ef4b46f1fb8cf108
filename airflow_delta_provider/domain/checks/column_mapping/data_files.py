"""Columns in data files: CM18, which the check of files against the schema finds; after a job changed them: CM19."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.column_mapping.family import FAMILY, READERS
from airflow_delta_provider.domain.checks.rule import Scope, causes

NOT_FOUND_IN_FILE = FAMILY.of(Scope.DATA).error(
    18,
    "data file lacks the ids or names that readers find columns by",
    effect="Readers refuse the file, or read NULL or another column's values from it.",
    remedy="RESTORE the table to a version before the file was added, and write its rows again with an engine that "
    "supports column mapping.",
    source=READERS,
    follows_from=causes("CM09", "CM11", "CM12", "CM16", "CM13", "CM01", later=True, earlier=True),
)


NOT_AS_ASKED = FAMILY.of(Scope.OUTCOME).error(
    19,
    "columns not as requested",
    effect="Queries that use the new names fail, or read columns that were to be dropped.",
    remedy="Check the table's history for another writer, then run the job again.",
)
