"""The command line of the kind ``check-paimon-row-tracking``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.check_paimon_row_tracking import (
    LEVELS,
    SOURCES,
    PaimonCheckRowTrackingOptions,
)
from airflow_delta_provider.jobs.run.command_line.command import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level", choices=LEVELS, default="metadata", help="snapshots and manifests (default), also the rows' ids"
    )
    parser.add_argument("--since-snapshot", type=int, metavar="ID", help="judge the commits after this snapshot only")
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="COLUMN",
        help="also check that a key keeps its id; may be repeated; with --level data",
    )
    parser.add_argument(
        "--source", choices=SOURCES, default="auto", help="read files, or ask the table's catalog; default by the name"
    )
    parser.add_argument("--state-path", metavar="DIRECTORY", help="where checks remember up to where all was well")
    parser.add_argument(
        "--fail-on-reassigned", action="store_true", help="row ids that Paimon itself reassigned are an error"
    )


def _options(parsed: argparse.Namespace) -> PaimonCheckRowTrackingOptions:
    return PaimonCheckRowTrackingOptions(
        level=parsed.level,
        since_snapshot=parsed.since_snapshot,
        key_columns=tuple(parsed.key),
        source=parsed.source,
        state_path=parsed.state_path,
        fail_on_reassigned=parsed.fail_on_reassigned,
    )


PAIMON_CHECK_ROW_TRACKING = Command(
    PaimonCheckRowTrackingOptions.kind, "check row tracking of Apache Paimon tables", _add_arguments, _options
)
