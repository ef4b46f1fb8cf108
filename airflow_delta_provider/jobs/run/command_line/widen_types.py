"""The command line of the kind ``widen-types``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.widen_types import WidenTypesOptions
from airflow_delta_provider.jobs.run.command_line.command import Command
from airflow_delta_provider.jobs.run.command_line.pairs import each_once, path_and_type
from airflow_delta_provider.jobs.run.command_line.protocol_upgrade import add_protocol_upgrade
from airflow_delta_provider.jobs.run.command_line.unsafe_log_store import add_unsafe_log_store


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--column", action="append", required=True, type=path_and_type, metavar="PATH=TYPE", help="may be repeated"
    )
    parser.add_argument("--enable-type-widening", action="store_true", help="set delta.enableTypeWidening first")
    parser.add_argument("--verify", choices=("data", "log"), default="data", help="compare the data, or the log only")
    add_unsafe_log_store(parser)
    add_protocol_upgrade(parser)


def _options(parsed: argparse.Namespace) -> WidenTypesOptions:
    columns = each_once("--column", parsed.column)
    return WidenTypesOptions(
        columns=columns,
        enable_type_widening=parsed.enable_type_widening,
        allow_protocol_upgrade=parsed.allow_protocol_upgrade,
        verify=parsed.verify,
        allow_unsafe_log_store=parsed.allow_unsafe_log_store,
    )


WIDEN_TYPES = Command(WidenTypesOptions.kind, "widen the types of columns", _add_arguments, _options, changes=True)
