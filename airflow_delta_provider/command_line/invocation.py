"""The content of a command line, combined with the configuration file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from airflow_delta_provider.command_line.arguments import GivenFile, content_of, flags_of, read_document, read_options
from airflow_delta_provider.command_line.exit_code import UsageError
from airflow_delta_provider.command_line.parser import table_parser
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.rendering.links import SourceTree
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.config_file import (
    NAME,
    PYPROJECT,
    Config,
    ConfigError,
    is_configured,
    parse_config,
    renamed_entries,
)
from airflow_delta_provider.domain.request.kinds import Kind, load
from airflow_delta_provider.domain.request.option import Document
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.table_name import (
    Exclusion,
    TableName,
    TableNameError,
    check_tables,
    is_relative,
    place_of,
)


def find_config(start: Path) -> Path | None:
    """Return the nearest configuration file in a folder or above it.

    A ``pyproject.toml`` counts if it has the table.

    :raises ConfigError: if a ``pyproject.toml`` on the way cannot be read
    """
    for folder in (start, *start.parents):
        if (folder / NAME).is_file():
            return folder / NAME
        pyproject = folder / PYPROJECT
        if pyproject.is_file() and is_configured(_text(pyproject), str(pyproject)):
            return pyproject
    return None


def read_config(path: Path) -> Config:
    """Return the configuration in a file.

    Relative file paths start at the file's folder; table names stay as they are written.

    :raises ConfigError: if it cannot be read or is invalid
    """
    folder = folder_of(path)
    return parse_config(_text(path), str(path), "" if folder == Path.cwd() else folder.as_posix())


def folder_of(path: Path) -> Path:
    """Return the folder where relative names in a configuration file start."""
    return path.parent.resolve()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text.") from None


#: Entry in the root of a repository: a folder, or a file in a worktree.
_REPOSITORY = ".git"


class ProjectFolder(NamedTuple):
    """The folder of the configuration file, or the working directory if there is none.

    :param path: absolute path
    """

    path: str

    def typed(self, text: str) -> str:
        """Return the table name or pattern for a string that is relative to the working directory."""
        location = _relative_location(text)
        if location is None:
            return text
        return _like(text, self._spelled(os.path.relpath(os.path.abspath(location), self.path)))

    def written(self, text: str) -> str:
        """Return the table name for a string in the configuration file.

        A string without a slash is a catalog name.
        """
        location = _relative_location(text)
        return text if location is None else _like(text, self._spelled(os.path.normpath(location)))

    def typed_folder(self, location: str) -> str:
        """Return a path with its start at the working directory, absolute if this is another folder."""
        return os.path.abspath(location) if is_relative(location) and self.path != os.getcwd() else location

    def absolute(self, location: str) -> str:
        """Return a location; a relative one starts at this folder."""
        if location.startswith("/"):
            return os.path.normpath(location)
        return os.path.normpath(os.path.join(self.path, location)) if is_relative(location) else location

    def place(self, table: str) -> Hashable:
        """Return a key that is equal for all names of a table."""
        try:
            name = TableName.parse(table)
        except TableNameError:
            return table
        if name.location is None:
            return place_of(name)
        return place_of(TableName(name.text, location=self.absolute(name.location)))

    def exclusion(self, patterns: Sequence[str]) -> Exclusion:
        return Exclusion([self.absolute(pattern) if "/" in pattern else pattern for pattern in patterns])

    def sources(self) -> SourceTree:
        """Return the place of files in the repository of the working directory, or else of this folder."""
        folder = Path(self.path)
        candidates = (*_with_parents(Path.cwd()), *_with_parents(folder))
        root = next((each for each in candidates if (each / _REPOSITORY).exists()), folder)
        return SourceTree(root.as_posix(), self.path)

    def _spelled(self, path: str) -> str:
        """Return a path as a table name, which needs a slash."""
        return path if "/" in path else f"./{path.removeprefix('.')}"


def _with_parents(folder: Path) -> tuple[Path, ...]:
    return (folder, *folder.parents)


def _relative_location(text: str) -> str | None:
    """Return the path that a string names, if it is relative."""
    try:
        location = TableName.parse(text).location
    except TableNameError:  # reported when tables are checked
        return None
    return location if location is not None and is_relative(location) else None


def _like(text: str, location: str) -> str:
    """Return the name of a location, quoted if ``text`` is quoted."""
    return location if TableName.parse(text).location == text else TableName(text, location=location).sql


#: First character of an argument that names a file of tables.
_FILE = "@"


def read_names(arguments: Iterable[str]) -> list[str]:
    """Return names and patterns of tables, with ``@FILE`` replaced by the names in the file.

    A file has one name per line, as it is; a line that begins with ``#`` is a comment. ``@-`` is standard input.

    :raises UsageError: if a file cannot be read
    """
    return [_as_location(name) for argument in arguments for name in _named_by(argument)]


def _named_by(argument: str) -> Iterator[str]:
    if not argument.startswith(_FILE):
        yield argument
        return
    file = argument.removeprefix(_FILE)
    try:
        if file == "-":
            lines = sys.stdin.read().splitlines()
        else:
            with open(file, encoding="utf-8") as opened:
                lines = opened.read().splitlines()
    except OSError as error:
        raise UsageError(f"{argument}: the file cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"{argument}: the file is not UTF-8 text.") from None
    for line in lines:
        name = line.strip()
        if name and not name.startswith("#"):
            yield name


def _as_location(name: str) -> str:
    """Return a name unchanged, or as a path if it could also be a catalog name and is a folder here."""
    if "/" in name or name.startswith("`"):
        return name
    is_pattern = any(mark in name for mark in "*?") and "." not in name
    return f"./{name}" if is_pattern or os.path.isdir(name) else name


def pairs(settings: Iterable[str]) -> dict[str, str]:
    """Return settings that are written as ``KEY=VALUE``.

    If a key is given twice, the last value is used.
    """
    parted = (setting.partition("=") for setting in settings)
    return {key: value for key, _, value in parted}


#: Keys of the configuration file for options of audits.
_KEYS = {"level": "level", "state_path": "state_path", "waivers": "waivers", "ownership": "tables"}


class Invocation(NamedTuple):
    """A command for tables, with its arguments and configuration.

    :param tables: names and patterns, from arguments or else from the configuration
    :param exclude: patterns of tables to leave out
    :param parsed: flags
    :param fail_on: lowest severity that fails: ``error``, ``warning`` or ``never``
    :param strict: True if undetermined tables fail
    :param project: start of relative table names
    :param as_jobs: True for ``python -m airflow_delta_provider.jobs``
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
    as_jobs: bool = False


#: Defaults of ``python -m airflow_delta_provider.jobs``.
_OF_JOBS = ("--engine", "spark", "--no-config")


def read_invocation(command: str, kind: Kind, words: Sequence[str], *, as_jobs: bool = False) -> Invocation:
    """Read a command line and its configuration file.

    :param as_jobs: True for ``python -m airflow_delta_provider.jobs``: with its defaults, and with table names as given
    :raises UsageError: if they are invalid
    :raises SystemExit: with 2 if argparse finds an error, with 0 after ``--help``
    """
    parsed = table_parser(command, kind).parse_intermixed_args([*words, *_OF_JOBS] if as_jobs else words)
    config, project = _configured(parsed, load(kind.options))
    fail_on = parsed.fail_on or config.fail_on or "error"
    options = _options(kind, parsed, config, fail_on, project)
    schemas = [f"{schema}.*" for schema in getattr(parsed, "schema", ())]
    named = [*parsed.tables, *parsed.named, *schemas] or [*options.declared_tables]
    tables, exclude = named if as_jobs else list(map(project.typed, read_names(named))), []
    if not options.changes:
        tables = tables or list(config.tables)
        exclude = [*map(project.typed, parsed.exclude), *config.exclude]
    _check(options, tables, parsed)
    strict = bool(config.strict if parsed.strict is None else parsed.strict)
    return Invocation(kind, options, tables, exclude, parsed, config, fail_on, strict, project, as_jobs)


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
    if project != here and (options.names_tables or options.writes_specs):
        return config.with_absolute_names(project.path), here
    return config.renamed(project.written), project


def _options(kind: Kind, parsed: argparse.Namespace, config: Config, fail_on: str, project: ProjectFolder) -> Options:
    """Return the options of the job, from the command line or else from the configuration."""
    options: type[Options] = load(kind.options)
    called = dict(flags_of(options))
    for name, flag in called.items():
        if isinstance(value := getattr(parsed, name, None), GivenFile):
            called[name] = f"{flag} {value.path}"
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
    if config.findings_table and "findings_table" in options.declared() and "findings_table" not in parsed:
        called["findings_table"] = f"{config.name}: findings_table"
        parsed.findings_table = config.findings_table
    for name in ("waivers", "ownership"):
        if name in parsed:
            setattr(parsed, name, renamed_entries(content_of(getattr(parsed, name)), project.written))
    for name in ("state_path", "findings_table"):
        if place := getattr(parsed, name, None):
            setattr(parsed, name, project.typed_folder(place) if "/" in place or name == "state_path" else place)
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
    except (RequestError, TableNameError) as error:
        raise UsageError(str(error)) from None
    if parsed.master is not None:
        from airflow_delta_provider.domain.engine.spark_library import MasterError, SparkMaster  # late: rarely needed

        try:
            SparkMaster.parse(parsed.master)
        except MasterError as error:
            raise UsageError(f"--master: {error}") from None
    for flag, settings in (("--conf", parsed.conf), ("--storage", parsed.storage)):
        for setting in settings:
            if not setting.partition("=")[0] or "=" not in setting:
                raise UsageError(f"{flag} {setting} is not KEY=VALUE.")
