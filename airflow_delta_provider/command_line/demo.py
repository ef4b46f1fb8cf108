"""``demo``: five small tables, three of them damaged, their audit, and the report as a page."""

from __future__ import annotations

import json
import os
import tempfile
import time
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_delta_provider.command_line.exit_code import ExitCode, UsageError
from airflow_delta_provider.command_line.parser import demo_parser
from airflow_delta_provider.command_line.terminal import PROGRAM, Terminal
from airflow_delta_provider.domain.delta.features.columns import INVARIANTS
from airflow_delta_provider.domain.delta.features.log import APPEND_ONLY, DOMAIN_METADATA, ROW_TRACKING
from airflow_delta_provider.domain.delta.table_properties import ENABLE_ROW_TRACKING
from airflow_delta_provider.domain.report.report import JobReport, Verdict

_SPARK = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
_DELTALAKE = "delta-rs:py-1.6.6"
_HOUR = 3_600_000
_ROW_TRACKING = {
    ENABLE_ROW_TRACKING: "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-demo",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-demo",
}
Action = dict[str, Any]


@dataclass(frozen=True)
class _Table:
    """A table of the demo.

    :param commits: actions by version; a version that is missing was lost
    :param damage: damage to its log, as the end of a line; empty if it is sound
    """

    commits: Mapping[int, Sequence[Action]]
    damage: str = ""


def run_demo(words: Sequence[str], terminal: Terminal) -> int:
    """Make the tables, audit them, show the report and return the exit code: 0 if the audit found each damage.

    :raises UsageError: if the folder is not empty
    """
    parsed = demo_parser().parse_args(words)
    folder = _folder(parsed.folder)
    tables = _tables(int(time.time() * 1000))
    for name, table in tables.items():
        log = folder / "lake" / name / "_delta_log"
        log.mkdir(parents=True)
        for version, actions in table.commits.items():
            text = "".join(f"{json.dumps(action)}\n" for action in actions)
            (log / f"{version:020d}.json").write_text(text, encoding="utf-8")
    damaged = {name: table.damage for name, table in tables.items() if table.damage}
    terminal.result(
        f"{line}\n"
        for line in [
            f"Five tables are in {folder}/lake. They have logs and no data files: an audit reads logs.",
            "Three are damaged:",
            *(f"  {name:<10}{damage}" for name, damage in damaged.items()),
            "",
            f"$ {PROGRAM} audit '{folder}/lake/*'",
            "",
        ]
    )
    report = _audit(folder)
    terminal.result(["\n", f"The report as a page: {(folder / 'report.html').as_uri()}\n"])
    if not parsed.no_browser and _has_screen():
        webbrowser.open((folder / "report.html").as_uri())
    found = {
        table.table.rpartition("/")[2]
        for table in report.tables
        if table.verdict is Verdict.VIOLATED and table.findings
    }
    terminal.result([f"Next: {PROGRAM} audit 's3://your-lake/**', or a folder of yours.\n"])
    return ExitCode.OK if found == damaged.keys() else ExitCode.FAULT


def _folder(given: str | None) -> Path:
    """Return the folder of the demo, which is made if it does not exist.

    :raises UsageError: if it has files
    """
    if given is None:
        return Path(tempfile.mkdtemp(prefix="delta-provider-demo-")).resolve()
    folder = Path(given).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise UsageError(f"{given} cannot be used: {error.strerror}.") from None
    if not is_empty:
        raise UsageError(f"{given} is not empty. Name a new folder, or none for a temporary one.")
    return folder


def _audit(folder: Path) -> JobReport:
    """Audit the tables as a user would, write the page, and return the report."""
    from airflow_delta_provider.command_line.output import run_show
    from airflow_delta_provider.command_line.table_command import run_table_command
    from airflow_delta_provider.domain.request.kinds import KINDS

    report = folder / "report.json"
    words = [f"{folder}/lake/*", "--report", str(report), "--no-config", "--engine", "python"]
    run_table_command("audit", KINDS["audit"], words)
    run_show([str(report), "--format", "html", "--output", str(folder / "report.html")], Terminal())
    return JobReport.from_json(json.loads(report.read_bytes()))


def _has_screen() -> bool:
    """Return True if a browser can be shown: not in CI, and not on a machine without a screen."""
    return not os.environ.get("CI") and bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _tables(now: int) -> dict[str, _Table]:
    """Return the tables by name.

    :param now: time of their newest commit, in milliseconds
    """
    times = [now - hours * _HOUR for hours in range(4, 0, -1)]
    ids = ("id", "long"), ("amount", "decimal(12,2)")
    sound = [_created(times[0], _DELTALAKE, ids), *(_appended(at, _DELTALAKE, n) for n, at in enumerate(times[1:3], 1))]
    tracked = [_created(times[0], _SPARK, (("id", "long"), ("qty", "integer")), _ROW_TRACKING)]
    tracked += [_appended(at, _SPARK, number, first_id=100 * (number - 1)) for number, at in enumerate(times[1:], 1)]
    again = [*tracked[:3], _appended(times[3], _SPARK, 3, first_id=100)]
    retyped = [*tracked[:3], _retyped(times[3], (("id", "long"), ("qty", "string")))]
    return {
        "customers": _Table(dict(enumerate(sound))),
        "events": _Table({n: actions for n, actions in enumerate(sound) if n != 1}, "a commit of its log was deleted"),
        "flights": _Table(dict(enumerate(again)), "a commit assigned row ids a second time"),
        "orders": _Table(dict(enumerate(retyped)), "somebody changed a column from int to string by hand"),
        "payments": _Table(dict(enumerate(tracked))),
    }


def _created(
    at: int, engine: str, columns: Sequence[tuple[str, str]], properties: Mapping[str, str] = {}
) -> list[Action]:
    protocol: Action = {"minReaderVersion": 1, "minWriterVersion": 2}
    if properties:
        features = sorted(feature.name for feature in (APPEND_ONLY, DOMAIN_METADATA, INVARIANTS, ROW_TRACKING))
        protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    return [_info(at, engine, "CREATE TABLE"), {"protocol": protocol}, _metadata(columns, properties)]


def _metadata(columns: Sequence[tuple[str, str]], properties: Mapping[str, str]) -> Action:
    fields = [{"name": name, "type": type_name, "nullable": True, "metadata": {}} for name, type_name in columns]
    metadata = {
        "id": "6f1f2c53-6d0e-4f57-9a35-0d1d9ecb4a37",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": dict(properties),
        "createdTime": 0,
    }
    return {"metaData": metadata}


def _appended(at: int, engine: str, number: int, first_id: int | None = None) -> list[Action]:
    """Return the actions of a commit that appends a file of 100 rows.

    :param first_id: row id of its first row; None without row tracking
    """
    add: Action = {
        "path": f"part-0000{number}-5c1d7a52-demo-c000.snappy.parquet",
        "partitionValues": {},
        "size": 2_048,
        "modificationTime": at,
        "dataChange": True,
        "stats": json.dumps({"numRecords": 100}),
    }
    if first_id is None:
        return [_info(at, engine, "WRITE"), {"add": add}]
    mark = {
        "domain": "delta.rowTracking",
        "configuration": f'{{"rowIdHighWaterMark":{first_id + 99}}}',
        "removed": False,
    }
    add |= {"baseRowId": first_id, "defaultRowCommitVersion": number}
    return [_info(at, engine, "WRITE"), {"domainMetadata": mark}, {"add": add}]


def _retyped(at: int, columns: Sequence[tuple[str, str]]) -> list[Action]:
    return [_info(at, _SPARK, "CHANGE COLUMN"), _metadata(columns, _ROW_TRACKING)]


def _info(at: int, engine: str, operation: str) -> Action:
    mode = {"mode": "Append"} if operation == "WRITE" else {}
    return {"commitInfo": {"timestamp": at, "operation": operation, "operationParameters": mode, "engineInfo": engine}}
