"""What a job may be asked for, one dataclass a kind, with the checks that need no table.

The operators, the command line and the wire format share these; ``OPTIONS`` maps a kind to its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.domain.request.arguments import RequestError
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.check_paimon_row_tracking import PaimonCheckRowTrackingOptions
from airflow_delta_provider.domain.request.check_row_tracking import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.column_mapping_usage import ColumnMappingUsageOptions
from airflow_delta_provider.domain.request.create_table import CreateTableOptions
from airflow_delta_provider.domain.request.detail import DetailOptions
from airflow_delta_provider.domain.request.disable_column_mapping import DisableColumnMappingOptions
from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.domain.suggestion import did_you_mean

OPTIONS: dict[str, type[Options]] = {
    options.kind: options
    for options in (
        EnableFeatureOptions,
        WidenTypesOptions,
        CheckRowTrackingOptions,
        AuditOptions,
        DetailOptions,
        ColumnMappingUsageOptions,
        DisableColumnMappingOptions,
        AlterColumnsOptions,
        CreateTableOptions,
        DropFeatureOptions,
        PaimonCheckRowTrackingOptions,
    )
}


def options_from_json(kind: str, wire: Mapping[str, Any]) -> Options:
    """Read the wire form.

    :raises RequestError: on an unknown kind or option
    """
    if kind not in OPTIONS:
        raise RequestError(f"There is no job kind {kind!r}.{did_you_mean(kind, OPTIONS)} Kinds: {', '.join(OPTIONS)}.")
    options = OPTIONS[kind]
    known = [option.name for option in fields(options)]
    for name in wire:
        if name not in known:
            raise RequestError(f"{kind} has no option {name!r}.{did_you_mean(name, known)}")
    return options(**wire)
