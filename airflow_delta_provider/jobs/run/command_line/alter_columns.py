"""The command line of the kind ``alter-columns``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.alter_columns import AlterColumnsOptions
from airflow_delta_provider.jobs.run.command_line.command import Command
from airflow_delta_provider.jobs.run.command_line.pairs import each_once, path_and_name, path_and_type
from airflow_delta_provider.jobs.run.command_line.unsafe_log_store import add_unsafe_log_store


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--drop", action="append", default=[], metavar="NAME", help="drop a column, before all else; may be repeated"
    )
    parser.add_argument(
        "--rename",
        action="append",
        default=[],
        type=path_and_name,
        metavar="OLD=NEW",
        help="rename a column, in its place; may be repeated",
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        type=path_and_type,
        metavar="NAME=TYPE",
        help="add a column, last; may be repeated",
    )
    add_unsafe_log_store(parser)


def _options(parsed: argparse.Namespace) -> AlterColumnsOptions:
    return AlterColumnsOptions(
        add=each_once("--add", parsed.add),
        rename=each_once("--rename", parsed.rename),
        drop=tuple(parsed.drop),
        allow_unsafe_log_store=parsed.allow_unsafe_log_store,
    )


ALTER_COLUMNS = Command(
    AlterColumnsOptions.kind, "drop, rename and add columns", _add_arguments, _options, changes=True
)
