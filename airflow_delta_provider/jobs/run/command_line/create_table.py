"""The command line of the kind ``create-table``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.create_table import CreateTableOptions
from airflow_delta_provider.jobs.run.command_line.command import Command
from airflow_delta_provider.jobs.run.command_line.pairs import each_once, path_and_type
from airflow_delta_provider.jobs.run.command_line.unsafe_log_store import add_unsafe_log_store
from airflow_delta_provider.jobs.run.command_line.writer_lockout import add_writer_lockout


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--column",
        action="append",
        required=True,
        type=path_and_type,
        metavar="NAME=TYPE",
        help="a column, in its place; may be repeated",
    )
    parser.add_argument(
        "--partition-by", action="append", default=[], metavar="NAME", help="a partition column; may be repeated"
    )
    add_writer_lockout(parser)
    add_unsafe_log_store(parser)


def _options(parsed: argparse.Namespace) -> CreateTableOptions:
    return CreateTableOptions(
        columns=each_once("--column", parsed.column),
        partition_by=tuple(parsed.partition_by),
        acknowledge_writer_lockout=parsed.acknowledge_writer_lockout,
        allow_unsafe_log_store=parsed.allow_unsafe_log_store,
    )


CREATE_TABLE = Command(
    CreateTableOptions.kind,
    "create an empty table with usage tracking of column mapping (experimental)",
    _add_arguments,
    _options,
    changes=True,
)
