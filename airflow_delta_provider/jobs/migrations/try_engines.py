"""The kind ``try-engines``: the installed engines read a table, each in a process of its own, and rows are compared."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.compatibility import (
    DIFFERENT_ROWS,
    PROBE_REFUSED,
    PROBE_UNDECIDED,
    ROWS_NOT_COMPARED,
)
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.live_file import count_live_rows
from airflow_delta_provider.domain.engine.secret_settings import excerpt, masked_text
from airflow_delta_provider.domain.report.answers import EngineTrial, Evidence
from airflow_delta_provider.domain.report.report import Finding, Severity, TableReport
from airflow_delta_provider.domain.request.check_options import TRIED, TryEnginesOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.table_name import normal_location
from airflow_delta_provider.jobs.delta.session import DeltaSession
from airflow_delta_provider.jobs.process import Progress, Timings, has_java, memory_limit
from airflow_delta_provider.jobs.storage.local_storage import local_path

_READER = "airflow_delta_provider.jobs.migrations.engine_reader"
_PROGRAM = "airflow_delta_provider"
_MOST_TEXT = 300
#: Seconds between two polls at the memory of an engine.
_INTERVAL = 0.1
#: Share of the memory that an engine may take.
_SHARE = 0.5


def run(session: DeltaSession, text: str, request: JobRequest, progress: Progress) -> TableReport:
    """Let engines read one table, or a changed copy of it, and compare the rows. The table is not changed."""
    options = cast("TryEnginesOptions", request.options)
    table, timings = session.open_table(text), Timings()
    name = table.name.text
    with ExitStack() as stack:
        local, log = local_path(table.location), table.log
        location, store = (
            local or normal_location(table.location),
            session.delta_options(normal_location(table.location)),
        )
        if options.after:
            if local is None:
                return TableReport.refused(
                    name,
                    requests.NOT_WRITABLE.found(
                        "{table} is not in a local directory, so no copy of it can be changed.",
                        remedy="Copy the table to a local directory, and name that.",
                        table=name,
                    ),
                )
            target = Path(stack.enter_context(tempfile.TemporaryDirectory())) / (Path(local).name or "table")
            with timings.phase("copy"):
                copy_table(Path(local), target)
            for command in options.after:
                progress(f"{name}: on a copy: {command}")
                with timings.phase("apply"):
                    failed = _change(command, target, options.seconds_per_engine)
                if failed is not None:
                    return TableReport.refused(name, failed, timings=timings)
            location, log = str(target), session.open_log(target.as_uri())
        state, tried = log.read_state(with_files=True), []
        for engine in options.engines or installed():
            progress(f"{name}: reading with {TRIED[engine][0]}")
            with timings.phase("engines"):
                tried.append(try_engine(engine, location, options.where, options.seconds_per_engine, store))
            if not tried[-1].failed:
                progress(f"{name}: {tried[-1].name} read {tried[-1].read[0]['rows']:,} rows")
        moved = log.read_state().version != state.version
    findings = list(_findings(tried, options, count_live_rows((state.files or {}).values()), moved=moved))
    evidence = Evidence(tried=tuple(each.answer for each in tried)).to_json()
    return TableReport.of_findings(name, *findings, version=state.version, evidence=evidence, timings=timings)


def installed() -> tuple[str, ...]:
    """Return the engines whose packages are installed; Delta Spark only if there is Java."""
    return tuple(name for name in TRIED if _release(name) and (name != "delta-spark" or has_java()))


def _release(engine: str) -> str | None:
    """Return the release of an engine; None if it is not installed."""
    try:
        return version(TRIED[engine][1])
    except PackageNotFoundError:
        return None


def copy_table(source: Path, target: Path) -> None:
    """Copy a table: files of the log are copied, all others become hard links if the file system lets them."""

    def link_or_copy(one: str, other: str) -> None:
        try:
            os.link(one, other)
        except OSError:
            shutil.copy2(one, other)

    shutil.copytree(source, target, copy_function=link_or_copy, ignore=lambda folder, _: _log_of(source, folder))
    shutil.copytree(source / "_delta_log", target / "_delta_log")


def _log_of(source: Path, folder: str) -> list[str]:
    return ["_delta_log"] if Path(folder) == source else []


def _change(command: str, target: Path, seconds: float) -> Finding | None:
    """Run a command on a copy; return a refusal if it fails, or if it does not end in time."""
    arguments = [*shlex.split(command), str(target)]
    output, why = run_bounded([sys.executable, "-m", _PROGRAM, *arguments], seconds)
    if not why:
        return None
    how, _, complained = why.partition(": ")
    return requests.ENGINE_REFUSED.found(
        "The command {command!r} failed on a copy of the table: {why}",
        remedy="Changes need Spark. Run the command on a copy of your own to see its whole output. If it needs more "
        "time than one engine has, raise seconds_per_engine (--seconds-per-engine).",
        command=command,
        why=Prose(": ".join(filter(None, [how, excerpt(output) or complained]))),
    )


@dataclass(frozen=True)
class EngineAnswer:
    """The answer of one engine.

    :param read: digests of all rows, and two for each predicate, as :mod:`engine_reader` prints them
    :param failed: reason why the rows could not be read; empty if they were
    :param says_nothing: True if the reason says nothing about the table
    """

    engine: str
    version: str | None
    read: Sequence[Mapping[str, Any]] = ()
    failed: str = ""
    says_nothing: bool = False

    @property
    def name(self) -> str:
        """Name and version, for messages."""
        return " ".join(filter(None, (TRIED[self.engine][0], self.version)))

    @property
    def answer(self) -> EngineTrial:
        """Its form in the report."""
        whole = None if self.failed else self.read[0]
        return EngineTrial(
            engine=TRIED[self.engine][0],
            version=self.version,
            outcome="read" if whole else "not measured" if self.says_nothing else "refused",
            rows=whole["rows"] if whole else None,
            digest=f"{whole['total']:016x}" if whole else None,
            message=self.failed,
        )


def try_engine(
    engine: str, location: str, predicates: Sequence[str], seconds: float, store: Mapping[str, str]
) -> EngineAnswer:
    """Let an engine read a table in a process of its own, with limits on its time and memory.

    :param seconds: time limit
    :param store: options of the object store; they are sent by standard input, since others can see arguments
    """
    release = _release(engine)
    if release is None:
        return EngineAnswer(engine, None, failed=f"the package {TRIED[engine][1]} is not installed", says_nothing=True)
    command = [sys.executable, "-m", _READER, engine, location, *predicates]
    output, why = run_bounded(command, seconds, json.dumps(dict(store)).encode())
    try:
        whole, *_ = read = json.loads(output.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return EngineAnswer(engine, release, failed=why or "its process gave no answer", says_nothing=True)
    failed = excerpt(whole.get("failed", ""))
    return EngineAnswer(engine, release, read, failed, says_nothing=bool(whole.get("missing")))


def run_bounded(
    command: Sequence[str],
    seconds: float,
    given: bytes = b"",
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> tuple[str, str]:
    """Run a command with limits on its time and memory. Beyond them, it is ended with all processes that it started.

    :param given: its standard input
    :param environment: variables beside those of this process
    :param folder: its working directory
    :return: its output until then, and the reason if it did not end well
    """
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        source.write(given)
        source.seek(0)
        process = subprocess.Popen(
            command,
            stdin=source,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
            cwd=folder,
        )
        try:
            why = _wait(process, seconds)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # also the JVM of Spark
            process.wait()
        printed, complained = (_content(file) for file in (output, errors))
    return printed, why or _failure(process.returncode, complained)


def _failure(code: int, complained: str) -> str:
    """Return how a process failed; empty if it did not.

    :param complained: its standard error
    """
    if code == 0:
        return ""
    try:
        how = f"its process was ended by {signal.Signals(-code).name}"
    except ValueError:
        how = f"its process ended with code {code}"
    # masked first: a cut can hide what marks a secret
    last = masked_text(" ".join(complained.split()))[-_MOST_TEXT:]
    return f"{how}: {last}" if last else f"{how} and no message"


def _content(file: Any) -> str:
    file.seek(0)
    return str(file.read(), errors="replace")


def _wait(process: subprocess.Popen[bytes], seconds: float) -> str:
    """Wait for the end of a process; return the reason if it must be ended."""
    until = time.monotonic() + seconds
    most = _SHARE * memory_limit()
    while process.poll() is None:
        if time.monotonic() > until:
            return f"it did not end within {seconds:g} seconds"
        if _memory(process.pid) > most:
            return f"it took more than half of the memory that it may have, {most / 1e9:.1f} GB"
        with suppress(subprocess.TimeoutExpired):
            process.wait(_INTERVAL)
    return ""


def _memory(pid: int) -> int:
    """Return the resident memory of a process and those that it started, in bytes; 0 if it cannot be known."""
    try:
        import psutil

        root = psutil.Process(pid)
        return sum(each.memory_info().rss for each in (root, *root.children(recursive=True)))
    except Exception:  # not installed, or the process has ended
        return 0


def _findings(
    tried: Sequence[EngineAnswer], options: TryEnginesOptions, rows: int | None, *, moved: bool
) -> Iterator[Finding]:
    """Yield what engines did.

    :param rows: number of rows by the log; None if unknown
    :param moved: True if the table changed meanwhile
    """
    for each in tried:
        if each.failed:
            rule, evidence = (
                (PROBE_UNDECIDED, "{engine} could not be tried: {why}.")
                if each.says_nothing
                else (PROBE_REFUSED, "{engine}, which is installed, does not read the table: {why}.")
            )
            wanted = each.engine in options.engines
            why = Prose(each.failed.rstrip("."))
            severity = None if wanted or each.says_nothing else Severity.WARNING
            yield rule.found(evidence, severity=severity, subject=each.name, engine=each.name, why=why)
    readers = [each for each in tried if not each.failed]
    if moved:
        yield ROWS_NOT_COMPARED.found("Another writer changed the table while engines read it.")
        return
    for each in readers:
        if rows not in (None, each.read[0]["rows"]):
            yield DIFFERENT_ROWS.found(
                "{engine} reads {rows:row}; by the log, the table has {expected}.",
                subject=each.name,
                engine=each.name,
                rows=each.read[0]["rows"],
                expected=rows,
            )
        yield from _lost(each, options.where)
    if len(readers) < 2:
        evidence = "Only {engines} read the table." if readers else "No engine read the table."
        yield ROWS_NOT_COMPARED.found(evidence, engines=", ".join(each.name for each in readers))
        return
    for number, predicate in enumerate((None, *options.where)):
        yield from differences(readers, 2 * number - 1 if number else 0, predicate)


def _lost(reader: EngineAnswer, predicates: Sequence[str]) -> Iterator[Finding]:
    """Yield a finding for each predicate that loses rows.

    Rows that are skipped by mistake are not found by the opposite either, for which engines skip no files.
    """
    whole = reader.read[0]
    for number, predicate in enumerate(predicates):
        parts = reader.read[2 * number + 1 : 2 * number + 3]
        if any("failed" in part for part in parts):
            continue  # another finding says so
        rows, total = (sum(part[name] for part in parts) for name in ("rows", "total"))
        if (rows, total % (1 << 64)) != (whole["rows"], whole["total"]):
            yield DIFFERENT_ROWS.found(
                "{engine} finds {rows:row} by {predicate!r} and its opposite together, but the table has {expected}: "
                "it skips files by wrong statistics, or compares other values.",
                subject=reader.name,
                engine=reader.name,
                rows=rows,
                predicate=predicate,
                expected=whole["rows"],
            )


def differences(readers: Sequence[EngineAnswer], number: int, predicate: str | None) -> Iterator[Finding]:
    """Yield a finding if engines read different rows. Several can have the same fault, so none is called wrong."""
    groups: dict[tuple[int, int], list[EngineAnswer]] = {}
    for each in readers:
        found = each.read[number]
        if "failed" not in found:
            groups.setdefault((found["rows"], found["total"]), []).append(each)
        elif not found.get("missing"):
            why = Prose(excerpt(found["failed"]))
            yield PROBE_UNDECIDED.found(
                "{engine} could not be tried with {predicate!r}: {why}.",
                subject=each.name,
                engine=each.name,
                predicate=predicate,
                why=why,
            )
    if len(groups) < 2:
        return
    first, *others = sorted(groups.values(), key=len, reverse=True)
    texts = [f"{_names(first)}: {first[0].read[number]['rows']:,} rows"]
    texts += [f"{_names(group)}: {', '.join(_how(group[0].read[number], first[0].read[number]))}" for group in others]
    yield DIFFERENT_ROWS.found(
        "The engines read different rows" + (" with {predicate!r}" if predicate else "") + ": {groups}.",
        subject=predicate,
        predicate=predicate or "",
        groups=Prose("; ".join(texts)),
    )


def _names(group: Sequence[EngineAnswer]) -> str:
    return " and ".join(each.name for each in group)


def _how(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    if ours["rows"] != theirs["rows"]:
        yield f"{ours['rows']:,} rows and not {theirs['rows']:,}"
    one, other = ours["columns"], theirs["columns"]
    if missing := sorted(other.keys() - one.keys()):
        yield f"without the columns {', '.join(missing)}"
    if more := sorted(one.keys() - other.keys()):
        yield f"with the further columns {', '.join(more)}"
    differing = [name for name in sorted(one.keys() & other.keys()) if one[name] != other[name]]
    if differing and ours["rows"] == theirs["rows"]:
        yield f"other values in {', '.join(map(_nulls(one, other), differing))}"
    elif not differing and ours["rows"] == theirs["rows"] and one.keys() == other.keys():
        yield "the same values in each column, but in other rows"


def _nulls(one: Mapping[str, Any], other: Mapping[str, Any]) -> Any:
    def named(column: str) -> str:
        ours, theirs = one[column]["nulls"], other[column]["nulls"]
        return column if ours == theirs else f"{column} ({ours:,} NULLs and not {theirs:,})"

    return named
