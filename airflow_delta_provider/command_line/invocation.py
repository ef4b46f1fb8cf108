"""The content of a command line, combined with the configuration file."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from airflow_delta_provider.command_line.config_search import find_config, folder_of, read_config
from airflow_delta_provider.command_line.parser import table_parser
from airflow_delta_provider.command_line.project_folder import ProjectFolder
from airflow_delta_provider.command_line.table_arguments import read_names
from airflow_delta_provider.command_line.usage_error import UsageError
from airflow_delta_provider.domain.engine.spark_master import MasterError, SparkMaster
from airflow_delta_provider.domain.request.audit import AuditOptions
from airflow_delta_provider.domain.request.config_file import Config, ConfigError, renamed_entries
from airflow_delta_provider.domain.request.kinds import Kind, load
from airflow_delta_provider.domain.request.migration_options import InitSpecOptions
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.table_name import TableNameError, check_tables
from airflow_delta_provider.domain.request.value import Document
from airflow_delta_provider.jobs.run.command_line.options import flags_of, read_document, read_options

#: Keys of the configuration file for options of audits.
_KEYS = {"level": "level", "state_path": "state_path", "waivers": "waivers", "ownership": "tables"}


@dataclass(frozen=True)
class Invocation:
    """A command for tables, with its arguments and configuration.

    :param tables: names and patterns, from arguments or else from the configuration
    :param exclude: patterns of tables to leave out
    :param parsed: flags
    :param fail_on: lowest severity that fails: ``error``, ``warning`` or ``never``
    :param strict: True if undetermined tables fail
    :param project: start of relative table names
    """

    kind: Kind
    options: Options
    tables: Sequence[str]
    exclude: Sequence[str]
    parsed: argparse.Namespace
    config: Config
    fail_on: str
    strict: bool
    project: ProjectFolder


def read_invocation(command: str, kind: Kind, words: Sequence[str]) -> Invocation:
    """Read a command line and its configuration file.

    :raises UsageError: if they are invalid
    :raises SystemExit: with 2 if argparse finds an error, with 0 after ``--help``
    """
    parsed = table_parser(command, kind).parse_intermixed_args(words)
    config, project = _configured(parsed, load(kind.options))
    fail_on = parsed.fail_on or config.fail_on or "error"
    options = _options(kind, parsed, config, fail_on, project)
    schemas = [f"{schema}.*" for schema in getattr(parsed, "schema", ())]
    named = read_names([*parsed.tables, *parsed.named, *schemas] or options.declared_tables)
    tables, exclude = list(map(project.typed, named)), []
    if not options.changes:
        tables = tables or list(config.tables)
        exclude = [*map(project.typed, parsed.exclude), *config.exclude]
    _check(options, tables, parsed)
    strict = bool(config.strict if parsed.strict is None else parsed.strict)
    return Invocation(kind, options, tables, exclude, parsed, config, fail_on, strict, project)


def _configured(parsed: argparse.Namespace, options: type[Options]) -> tuple[Config, ProjectFolder]:
    """Return the configuration, and the start of relative table names.

    With specs, that is the working directory.
    """
    if parsed.no_config and parsed.config:
        raise UsageError("give only one of --config and --no-config.")
    try:
        path = Path(parsed.config) if parsed.config else None if parsed.no_config else find_config(Path.cwd())
        config = Config() if path is None else read_config(path)
    except ConfigError as error:
        raise UsageError(str(error)) from None
    here = ProjectFolder(os.getcwd())
    if path is None:
        return config, here
    project = ProjectFolder(folder_of(path).as_posix())
    if project != here and (options.names_tables or issubclass(options, InitSpecOptions)):
        return config.with_absolute_names(project.path), here
    return config.renamed(project.written), project


def _options(kind: Kind, parsed: argparse.Namespace, config: Config, fail_on: str, project: ProjectFolder) -> Options:
    """Return the options of the job, from the command line or else from the configuration."""
    options: type[Options] = load(kind.options)
    called = dict(flags_of(options))
    if issubclass(options, AuditOptions):
        parsed.fail_on = "warning" if fail_on == "warning" else "error"
        for name, value in _of_audits(parsed, config):
            setattr(parsed, name, value)
            called[name] = f"{config.name}: {_KEYS[name]}"
    for name in ("policy", "fleet"):
        place = getattr(config, name)
        if place is not None and name in options.declared() and name not in parsed:
            called[name] = f"{config.name}: {name}"
            setattr(parsed, name, _document(options, name, place, config))
    for name in ("waivers", "ownership"):
        if name in parsed:
            setattr(parsed, name, renamed_entries(getattr(parsed, name), project.written))
    if getattr(parsed, "state_path", None):
        parsed.state_path = project.typed_folder(parsed.state_path)
    try:
        read = read_options(parsed, options)
        read.check_names()
    except RequestError as error:
        raise UsageError(error.naming(called)) from None
    return read


def _document(options: type[Options], name: str, place: str, config: Config) -> Any:
    """Return the content of a file that the configuration names."""
    try:
        return read_document(cast("Document", options.declared()[name].value), place)
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"{config.name}: {name}: {error}.") from None


def _of_audits(parsed: argparse.Namespace, config: Config) -> Iterator[tuple[str, Any]]:
    """Yield the audit options from the configuration that no flag sets."""
    selects = any(name in parsed for name in AuditOptions.selecting)
    given: Mapping[str, Any] = {
        "level": config.level,
        "state_path": None if selects else config.state_path,  # state needs all rules and the whole history
        "waivers": config.waivers,
        "ownership": config.ownership,
    }
    yield from ((name, value) for name, value in given.items() if value and name not in parsed)


def _check(options: Options, tables: Sequence[str], parsed: argparse.Namespace) -> None:
    """Check the rules that argparse cannot check."""
    if not tables:
        try:
            options.check_tables(tables)
        except RequestError as error:
            raise UsageError(error.naming({"table": "TABLE"})) from None
        raise UsageError(
            "name at least one table: a path, a URI, a pattern or @FILE."
            if not options.changes
            else "name the table to change."
        )
    try:
        check_tables(tables, patterns=not options.changes, relative=True)
        if parsed.master is not None:
            SparkMaster.parse(parsed.master)
    except (RequestError, TableNameError) as error:
        raise UsageError(str(error)) from None
    except MasterError as error:
        raise UsageError(f"--master: {error}") from None
    for flag, settings in (("--conf", parsed.conf), ("--storage", parsed.storage)):
        for setting in settings:
            if not setting.partition("=")[0] or "=" not in setting:
                raise UsageError(f"{flag} {setting} is not KEY=VALUE.")
