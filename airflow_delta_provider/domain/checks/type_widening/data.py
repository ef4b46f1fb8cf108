"""Values and types in data files: TW16, found by the check of files against the schema; TW17 and TW18, after a job."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.column_mapping.changes import (
    ID_CHANGED,
    ILLEGAL_MODE_CHANGE,
    PHYSICAL_NAME_CHANGED,
    REUSED_ID,
)
from airflow_delta_provider.domain.checks.column_mapping.physical_paths import REUSED_PATH
from airflow_delta_provider.domain.checks.rule import Scope, causes
from airflow_delta_provider.domain.checks.type_widening.family import FAMILY, READERS

_data = FAMILY.of(Scope.DATA, READERS)

UNREACHABLE_TYPE = _data.error(
    16,
    "data file type cannot be explained by recorded type changes",
    effect="Readers fail on the file, or read wrong values from it.",
    remedy="RESTORE the table to a version before the file was added, and write its rows again with an engine that "
    "writes the type of the table.",
    follows_from=causes(
        "TW08",
        "TW09",
        "TW12",
        REUSED_PATH,
        PHYSICAL_NAME_CHANGED,
        ID_CHANGED,
        REUSED_ID,
        ILLEGAL_MODE_CHANGE,
        earlier=True,
        later=True,
    ),
)
VALUES_CHANGED = _data.error(
    18,
    "values read differently after widening",
    effect="Readers get other values than before the change.",
    remedy="Do not write to the table; RESTORE it to the version before the change, and report the engine that wrote "
    "its files.",
)


_outcome = FAMILY.of(Scope.OUTCOME, "")

TYPE_NOT_CHANGED = _outcome.error(
    17,
    "column does not have the requested type",
    effect="Consumers relying on the wider type do not get it.",
    remedy="Check the table's history for another writer, then run the job again.",
)
