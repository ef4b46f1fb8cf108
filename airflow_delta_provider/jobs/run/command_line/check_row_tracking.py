"""The command line of the kind ``check-row-tracking``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.check_row_tracking import LEVELS, CheckRowTrackingOptions
from airflow_delta_provider.jobs.run.command_line.command import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level", choices=LEVELS, default="data", help="rules of the log, also Parquet footers, also row ids (default)"
    )
    parser.add_argument("--compare-to", type=int, metavar="VERSION", help="also check that ids are stable since then")
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="COLUMN",
        help="also check that a key keeps its id; may be repeated; with --compare-to",
    )


def _options(parsed: argparse.Namespace) -> CheckRowTrackingOptions:
    return CheckRowTrackingOptions(
        level=parsed.level, compare_to_version=parsed.compare_to, key_columns=tuple(parsed.key)
    )


CHECK_ROW_TRACKING = Command(
    CheckRowTrackingOptions.kind, "check that row ids are unique and stable", _add_arguments, _options
)
