"""A command that works on tables: from its arguments to its report."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path

from airflow_delta_provider.command_line.arguments import SpecFile, flags_of
from airflow_delta_provider.command_line.engine import EngineUnavailableError, choose, opened
from airflow_delta_provider.command_line.exit_code import ExitCode, UsageError, exit_code
from airflow_delta_provider.command_line.invocation import Invocation, read_invocation
from airflow_delta_provider.command_line.output import Baseline, Output
from airflow_delta_provider.command_line.terminal import ProgressBar, Terminal
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.errors import RequestError
from airflow_delta_provider.domain.report.report import JobReport, TableReport, Verdict
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.kinds import Kind
from airflow_delta_provider.domain.table_name import is_catalog_name
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.run.tables import DELTA_MARKS, matches
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from airflow_delta_provider.jobs.tables.session import TableError

#: Directories in every Paimon table.
_PAIMON_MARKS = frozenset({"schema", "snapshot"})


def run_table_command(command: str, kind: Kind, words: Sequence[str], *, as_jobs: bool = False) -> int:
    """Run a command, print its result and return the exit code.

    :param as_jobs: True for ``python -m airflow_delta_provider.jobs``: only a fault of every table fails
    :raises UsageError: if the command line is invalid
    """
    invocation = read_invocation(command, kind, words, as_jobs=as_jobs)
    parsed = invocation.parsed
    terminal = Terminal(quiet=parsed.quiet, verbose=parsed.verbose)
    output = Output(invocation, terminal)
    for feature in invocation.options.features_to_come():
        terminal.note(f"this package does not know a table feature {feature!r}; the engine may.")
    choice = choose(kind, invocation.options, invocation.tables, parsed, invocation.config)
    terminal.detail(f"engine {choice.name}: {choice.why}")
    options = invocation.options
    by_name = any(map(is_catalog_name, invocation.tables))
    delta = options.findings_table is not None or options.needs_delta(by_name=by_name)
    try:
        with opened(choice, invocation, terminal, delta=delta) as session:
            output.check(session)
            spec_file = _spec_file(invocation, session)
            return _run(invocation, session, output, spec_file, terminal)
    except EngineUnavailableError as error:
        terminal.error(str(error), *error.lines)
        return ExitCode.FAULT


def _spec_file(invocation: Invocation, session: DeltaSession) -> SpecFile | None:
    """Return the file for the specs; None if none is requested.

    :raises UsageError: if they cannot be written there
    """
    try:
        found = SpecFile.of(invocation.options)
        if found is not None:
            found.check(session.storage)
    except RequestError as error:
        raise UsageError(error.naming({"out": "--output", "force": "--force"})) from None
    except Exception as failure:
        raise UsageError(f"--output: {session.understand(failure).message}") from None
    return found


def _run(
    invocation: Invocation, session: DeltaSession, output: Output, spec_file: SpecFile | None, terminal: Terminal
) -> int:
    baseline = _baseline(invocation, session)
    try:
        tables, unmatched, errors = _tables(invocation, session, terminal)
    except Exception as failure:  # any error of a catalog
        terminal.error(session.understand(failure).message)
        return ExitCode.FAULT
    for why in unmatched:
        terminal.error(why)
    if not tables:
        if not unmatched:
            terminal.error("every table is excluded.")
        return ExitCode.USAGE
    request = _request(invocation, tables)

    def take(table: TableReport) -> TableReport:
        progress.count(table)
        return output.take(table if baseline is None else baseline.compared(table))

    try:
        with ProgressBar(len(tables), terminal) as progress:
            report = run(request, session, progress, take, errors)
    except RequestError as error:
        raise UsageError(str(error)) from None
    except Exception as failure:
        known = isinstance(failure, RuntimeError)
        terminal.error(str(failure) if known else session.understand(failure).message)
        return ExitCode.FAULT
    for warning in report.warnings:
        terminal.error(warning)
    if not output.write(report, session):
        return ExitCode.FAULT
    if spec_file is not None and (spec_file.place or output.is_aside):
        try:
            if not spec_file.write(report, session.storage, terminal):
                return ExitCode.FAULT
        except Exception as failure:
            terminal.error(f"the specs could not be written: {session.understand(failure).message}")
            return ExitCode.FAULT
    if request.options.state_path is not None:
        from airflow_delta_provider.jobs.run.own_receipt import confirm

        confirm(session, request, report, terminal.note)
    _hint(invocation, report, terminal)
    return _end(invocation, report, missed=bool(unmatched))


def _request(invocation: Invocation, tables: Sequence[str]) -> JobRequest:
    """Return the request for tables.

    :raises UsageError: if the options do not fit them
    """
    options = invocation.options
    try:
        return JobRequest(
            tuple(tables),
            options,
            dry_run=invocation.parsed.dry_run,
            receipt=os.urandom(16).hex(),
            allowed_locations=tuple(invocation.parsed.allowed_locations),
        )
    except RequestError as error:
        raise UsageError(error.naming(flags_of(type(options)))) from None


def _hint(invocation: Invocation, report: JobReport, terminal: Terminal) -> None:
    """Print how plans are approved, and how to name the tables in a folder that is not a table itself."""
    if any(table.plan is not None and table.plan.get("approval") for table in report.tables if not table.changed):
        terminal.note(
            "To apply the approved plan: `apply-migration --plan REPORT.json` executes these steps and no others. "
            "`apply-migration --spec` plans again and asks for no approval."
        )
    for table in report.tables:
        if table.table not in invocation.tables or table.table.rpartition("/")[2] in DELTA_MARKS:
            continue
        unlike = any(finding.code == requests.NOT_DELTA.code for finding in table.findings)
        if unlike and not is_catalog_name(table.table):
            terminal.note(f"To name all tables below {table.table}, write '{table.table.rstrip('/')}/**'.")
            return


def _end(invocation: Invocation, report: JobReport, *, missed: bool) -> ExitCode:
    if invocation.as_jobs:
        return ExitCode.FAULT if all(table.verdict is Verdict.FAULT for table in report.tables) else ExitCode.OK
    new_only = invocation.parsed.baseline is not None
    code = exit_code(report, fail_on=invocation.fail_on, strict=invocation.strict, new_only=new_only)
    if invocation.parsed.exit_zero:
        code = ExitCode.OK
    return ExitCode.USAGE if missed and code in (ExitCode.OK, ExitCode.UNDETERMINED) else code


def _baseline(invocation: Invocation, session: DeltaSession) -> Baseline | None:
    """Return the baseline from the command line.

    :raises UsageError: if it cannot be used
    """
    place = invocation.parsed.baseline
    if place is None:
        return None
    try:
        content = session.storage.read(place) if "://" in place else Path(place).read_bytes()
    except (MissingFileError, FileNotFoundError):
        raise UsageError(f"--baseline {place}: there is no such file.") from None
    except OSError as error:
        raise UsageError(f"--baseline {place} cannot be read: {error.strerror or error}.") from None
    except Exception as failure:
        raise UsageError(f"--baseline {place} cannot be read: {session.understand(failure).message}") from None
    return Baseline.read(content, invocation.kind.name, place, invocation.project)


def _tables(
    invocation: Invocation, session: DeltaSession, terminal: Terminal
) -> tuple[list[str], list[str], dict[str, Exception]]:
    """Return the tables, each once; the problems with patterns and matches; and the errors of folders by name.

    A folder that cannot be listed is among the tables.
    """
    if invocation.options.changes or invocation.as_jobs:  # then the job expands patterns
        return list(invocation.tables), [], {}
    project = invocation.project
    exclusion = project.exclusion(invocation.exclude)
    marks = _PAIMON_MARKS if invocation.kind.name.startswith("check-paimon") else DELTA_MARKS
    unmatched: list[str] = []
    errors: dict[str, Exception] = {}

    def matching() -> Iterable[str]:
        for text in invocation.tables:
            try:
                fitting = matches(session, text, marks, terminal.note)
            except TableError as error:
                unmatched.append(error.finding.message)
                continue
            except Exception:  # any error of an unreachable storage; the job reports it
                fitting = None
            if fitting is None:
                yield text
            elif listed := [*fitting.tables, *fitting.errors]:
                errors.update(fitting.errors)
                yield from filter(_can_be_named, listed)
                unnamed = (name for name in listed if not _can_be_named(name))
                unmatched.extend(f"{name!a} is left out: its name is not valid Unicode. Rename it." for name in unnamed)
            else:
                unmatched.append(f"no table matches {text}.")

    found: dict[Hashable, str] = {}
    for table in matching():
        if not exclusion.covers(project.absolute(table) if "/" in table else table):
            found.setdefault(project.place(table), table)
    return list(found.values()), unmatched, errors


def _can_be_named(table: str) -> bool:
    """Return True if a request can name a table: a file's name may be invalid Unicode."""
    try:
        table.encode()
    except UnicodeEncodeError:
        return False
    return True
