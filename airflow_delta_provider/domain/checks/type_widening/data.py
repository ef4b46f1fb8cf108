"""Values and types in data files: TW16, which the check of files against the schema finds, and TW18."""

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
