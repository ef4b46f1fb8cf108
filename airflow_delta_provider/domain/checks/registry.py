"""All rules: by family, by code, and by what follows from what. Importing it registers all checks."""

from __future__ import annotations

from collections.abc import Mapping

import airflow_delta_provider.domain.checks.actions.deletion_vectors
import airflow_delta_provider.domain.checks.actions.domains
import airflow_delta_provider.domain.checks.actions.fields
import airflow_delta_provider.domain.checks.actions.files
import airflow_delta_provider.domain.checks.actions.partition_values
import airflow_delta_provider.domain.checks.actions.timestamps
import airflow_delta_provider.domain.checks.column_mapping.changes
import airflow_delta_provider.domain.checks.column_mapping.clustering
import airflow_delta_provider.domain.checks.column_mapping.data_files
import airflow_delta_provider.domain.checks.column_mapping.file_names
import airflow_delta_provider.domain.checks.column_mapping.outcome
import airflow_delta_provider.domain.checks.column_mapping.physical_paths
import airflow_delta_provider.domain.checks.column_mapping.state
import airflow_delta_provider.domain.checks.data_files.file_schema
import airflow_delta_provider.domain.checks.data_files.files
import airflow_delta_provider.domain.checks.log.catalog_managed
import airflow_delta_provider.domain.checks.log.checkpoints
import airflow_delta_provider.domain.checks.log.checksums
import airflow_delta_provider.domain.checks.log.compaction
import airflow_delta_provider.domain.checks.log.damaged_files
import airflow_delta_provider.domain.checks.log.duplicate_files
import airflow_delta_provider.domain.checks.log.history
import airflow_delta_provider.domain.checks.metadata.changes
import airflow_delta_provider.domain.checks.metadata.clustering
import airflow_delta_provider.domain.checks.metadata.identity
import airflow_delta_provider.domain.checks.metadata.schema
import airflow_delta_provider.domain.checks.metadata.state
import airflow_delta_provider.domain.checks.protocol.changes
import airflow_delta_provider.domain.checks.protocol.iceberg_compat
import airflow_delta_provider.domain.checks.protocol.lists
import airflow_delta_provider.domain.checks.protocol.missing_features
import airflow_delta_provider.domain.checks.protocol.outcomes
import airflow_delta_provider.domain.checks.row_tracking.commits
import airflow_delta_provider.domain.checks.row_tracking.comparison
import airflow_delta_provider.domain.checks.row_tracking.history
import airflow_delta_provider.domain.checks.row_tracking.keys
import airflow_delta_provider.domain.checks.row_tracking.live_files
import airflow_delta_provider.domain.checks.row_tracking.moved_rows
import airflow_delta_provider.domain.checks.row_tracking.row_ids
import airflow_delta_provider.domain.checks.row_tracking.state
import airflow_delta_provider.domain.checks.type_widening.changes
import airflow_delta_provider.domain.checks.type_widening.data
import airflow_delta_provider.domain.checks.type_widening.outcome
import airflow_delta_provider.domain.checks.type_widening.state
import airflow_delta_provider.domain.checks.usage_tracking.changes
import airflow_delta_provider.domain.checks.usage_tracking.state  # noqa: F401
from airflow_delta_provider.domain.checks import disable_mapping, faults, paimon_metadata, paimon_rows, requests
from airflow_delta_provider.domain.checks.actions import family as actions
from airflow_delta_provider.domain.checks.column_mapping import family as column_mapping
from airflow_delta_provider.domain.checks.data_files import family as data_files
from airflow_delta_provider.domain.checks.log import family as log
from airflow_delta_provider.domain.checks.metadata import family as metadata
from airflow_delta_provider.domain.checks.protocol import family as protocol
from airflow_delta_provider.domain.checks.row_tracking import family as row_tracking
from airflow_delta_provider.domain.checks.rule import Rule, RuleFamily
from airflow_delta_provider.domain.checks.type_widening import family as type_widening
from airflow_delta_provider.domain.checks.usage_tracking import family as usage_tracking

FAMILIES: tuple[RuleFamily, ...] = (
    requests.FAMILY,
    faults.FAMILY,
    log.FAMILY,
    actions.FAMILY,
    protocol.FAMILY,
    metadata.FAMILY,
    column_mapping.FAMILY,
    usage_tracking.FAMILY,
    disable_mapping.FAMILY,
    type_widening.FAMILY,
    row_tracking.FAMILY,
    data_files.FAMILY,
    paimon_metadata.FAMILY,
    paimon_rows.FAMILY,
)

#: By code.
RULES: Mapping[str, Rule] = {rule.code: rule for family in FAMILIES for rule in family.rules}


def _causes() -> Mapping[str, tuple[str, ...]]:
    found = {rule.code: [_code(cause) for cause in rule.follows_from.rules] for rule in RULES.values()}
    for rule in RULES.values():
        for consequence in rule.leads_to:
            found[consequence.code].append(rule.code)
    return {code: tuple(codes) for code, codes in found.items() if codes}


def _code(rule: Rule | str) -> str:
    """Return the code of a rule that is named by it, or given itself.

    :raises KeyError: if there is none
    """
    return rule.code if isinstance(rule, Rule) else RULES[rule].code


#: By the code of what follows, the codes of what it may follow from, the likeliest first.
CAUSES: Mapping[str, tuple[str, ...]] = _causes()
