"""Findings after a job changed features or properties: TF18, TF19, TF23 and TF24; in data files: TF29 and TF30."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.protocol.family import FAMILY
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.checks.rule import Scope, causes

_outcome = FAMILY.of(
    Scope.OUTCOME,
    remedy="Run the job again; if the finding remains, check the table's history for another writer that reverts the "
    "change.",
)

FEATURE_NOT_ENABLED = _outcome.error(
    18, "feature not enabled after it was enabled", effect="Consumers relying on the feature do not get it."
)
PROPERTY_NOT_SET = _outcome.error(
    19, "property not as it was set", effect="Consumers relying on the property find another value."
)
FEATURE_NOT_DROPPED = _outcome.error(
    23, "feature still there after it was dropped", effect="Engines that do not know the feature stay locked out."
)
DROP_WAITS = _outcome.undecided(
    24,
    "feature waits for its history to be truncated",
    effect="The table no longer uses the feature, but engines that do not know it stay locked out until it is dropped.",
    remedy="Run the same job again when the history may be truncated; it then drops the feature.",
)

SHREDDED_WITHOUT_FEATURE = FAMILY.of(Scope.DATA).error(
    29,
    "shredded variants without the table feature",
    effect="Nothing keeps readers that do not know shredded variants from the file: they fail on it, or read NULL or "
    "parts of the values.",
    remedy=Restore(
        ", and write its rows again with an engine that shreds variants only if the table allows it",
        of_file=True,
    ),
    source="PROTOCOL.md, Variant Shredding",
)
NOT_WRITTEN_FOR_ICEBERG = FAMILY.of(Scope.DATA).error(
    30,
    "data file not written as compatibility with Iceberg requires",
    effect="Iceberg readers, which get the file as it is, fail on it or read NULL in the column.",
    remedy="Write the file again, for example with REORG TABLE … APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION=2)), "
    "and update the engine that wrote it.",
    source="PROTOCOL.md, Writer Requirements for IcebergCompatV1 and V2",
    follows_from=causes("TF25", "TF27", earlier=True, later=True),
)
