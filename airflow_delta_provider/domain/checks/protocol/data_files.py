"""Features that data files use: TF29, which the check of files against the schema finds."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.protocol.family import FAMILY
from airflow_delta_provider.domain.checks.rule import Scope

SHREDDED_WITHOUT_FEATURE = FAMILY.of(Scope.DATA).error(
    29,
    "shredded variants without the table feature",
    effect="Nothing keeps readers that do not know shredded variants from the file: they fail on it, or read NULL or "
    "parts of the values.",
    remedy="RESTORE the table to a version before the file was added, and write its rows again with an engine that "
    "shreds variants only where the table supports variantShredding.",
    source="PROTOCOL.md, Variant Shredding",
)
