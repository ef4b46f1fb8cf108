"""The command line of the kind ``drop-feature``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.drop_feature import DropFeatureOptions
from airflow_delta_provider.jobs.run.command_line.command import Command
from airflow_delta_provider.jobs.run.command_line.protocol_upgrade import add_protocol_upgrade
from airflow_delta_provider.jobs.run.command_line.unsafe_log_store import add_unsafe_log_store


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--feature", action="append", required=True, metavar="NAME", help="may be repeated")
    parser.add_argument("--truncate-history", action="store_true", help="delete the history that has traces of it")
    parser.add_argument("--allow-rewrite", action="store_true", help="allow data files to be rewritten")
    parser.add_argument("--acknowledge-history-loss", action="store_true", help="older versions may be lost")
    parser.add_argument("--acknowledge-row-id-loss", action="store_true", help="row ids may lose their identity")
    add_unsafe_log_store(parser)
    add_protocol_upgrade(parser)


def _options(parsed: argparse.Namespace) -> DropFeatureOptions:
    return DropFeatureOptions(
        features=tuple(parsed.feature),
        truncate_history=parsed.truncate_history,
        allow_protocol_upgrade=parsed.allow_protocol_upgrade,
        allow_rewrite=parsed.allow_rewrite,
        acknowledge_history_loss=parsed.acknowledge_history_loss,
        acknowledge_row_id_loss=parsed.acknowledge_row_id_loss,
        allow_unsafe_log_store=parsed.allow_unsafe_log_store,
    )


DROP_FEATURE = Command(DropFeatureOptions.kind, "drop table features", _add_arguments, _options, changes=True)
