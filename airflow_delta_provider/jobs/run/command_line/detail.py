"""The command line of the kind ``detail``."""

from __future__ import annotations

import argparse

from airflow_delta_provider.domain.request.detail import DetailOptions
from airflow_delta_provider.jobs.run.command_line.command import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    del parser  # the tables are all there is to say


def _options(parsed: argparse.Namespace) -> DetailOptions:
    del parsed
    return DetailOptions()


DETAIL = Command(DetailOptions.kind, "say what tables are: schema, protocol, features, …", _add_arguments, _options)
