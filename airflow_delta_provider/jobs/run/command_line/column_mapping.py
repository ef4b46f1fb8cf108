"""The command lines of the kinds about column mapping."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.column_mapping_usage import ColumnMappingUsageOptions
from airflow_delta_provider.domain.request.disable_column_mapping import STRATEGIES, VERIFY, DisableColumnMappingOptions
from airflow_delta_provider.jobs.run.command_line.command import Command
from airflow_delta_provider.jobs.run.command_line.unsafe_log_store import add_unsafe_log_store


def _no_arguments(parser: argparse.ArgumentParser) -> None:
    del parser


def _usage(parsed: argparse.Namespace) -> ColumnMappingUsageOptions:
    del parsed
    return ColumnMappingUsageOptions()


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        help="metadata-only where that is proven to be safe, else, if allowed, a rewrite (auto, the default); or one "
        "of the two",
    )
    parser.add_argument("--allow-rewrite", action="store_true", help="allow that every data file is rewritten")
    parser.add_argument(
        "--verify", choices=VERIFY, default="footers", help="compare what footers say (default), or also read all rows"
    )
    add_unsafe_log_store(parser)


def _options(parsed: argparse.Namespace) -> DisableColumnMappingOptions:
    return DisableColumnMappingOptions(
        strategy=parsed.strategy,
        allow_rewrite=parsed.allow_rewrite,
        verify=parsed.verify,
        allow_unsafe_log_store=parsed.allow_unsafe_log_store,
    )


COLUMN_MAPPING_USAGE = Command(
    ColumnMappingUsageOptions.kind, "tell whether columns were ever renamed or dropped", _no_arguments, _usage
)
DISABLE_COLUMN_MAPPING = Command(
    DisableColumnMappingOptions.kind, "take column mapping away", _add_arguments, _options, changes=True
)
