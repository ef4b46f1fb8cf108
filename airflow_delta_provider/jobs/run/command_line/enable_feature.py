"""The command line of the kind ``enable-feature``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.enable_feature import EnableFeatureOptions
from airflow_delta_provider.jobs.run.command_line.command import Command
from airflow_delta_provider.jobs.run.command_line.pairs import each_once, name_and_value
from airflow_delta_provider.jobs.run.command_line.protocol_upgrade import add_protocol_upgrade
from airflow_delta_provider.jobs.run.command_line.unsafe_log_store import add_unsafe_log_store
from airflow_delta_provider.jobs.run.command_line.writer_lockout import add_writer_lockout


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--feature", action="append", required=True, metavar="NAME", help="may be repeated")
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        type=name_and_value,
        metavar="NAME=VALUE",
        help="also set this table property",
    )
    parser.add_argument(
        "--allow-special", action="store_true", help="allow previews and features that few engines know"
    )
    add_writer_lockout(parser)
    add_unsafe_log_store(parser)
    add_protocol_upgrade(parser)


def _options(parsed: argparse.Namespace) -> EnableFeatureOptions:
    return EnableFeatureOptions(
        features=tuple(parsed.feature),
        properties=each_once("--property", parsed.property),
        allow_protocol_upgrade=parsed.allow_protocol_upgrade,
        allow_special=parsed.allow_special,
        acknowledge_writer_lockout=parsed.acknowledge_writer_lockout,
        allow_unsafe_log_store=parsed.allow_unsafe_log_store,
    )


ENABLE_FEATURE = Command(EnableFeatureOptions.kind, "enable table features", _add_arguments, _options, changes=True)
