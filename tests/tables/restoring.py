"""Remedies, RESTORE and others, on each damage of a commit, as engines carry them out; and a record of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Restore
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from tests.unit.audit.test_audit_history import damaged
from tests.unit.damages import FIRST
from tests.unit.damages.case import Case
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import audited

RECORD = Path(__file__).parent / "restoring.json"
#: One damage for each rule whose remedy is RESTORE.
TRIED = {code: case for code, case in FIRST.items() if isinstance(RULES[code].remedy, Restore)}


def _set(key: str, value: str = "true") -> str:
    return f"ALTER TABLE {{table}} SET TBLPROPERTIES ('{key}' = '{value}')"


def _feature(name: str) -> str:
    return _set(f"delta.feature.{name}", "supported")


def _unset(key: str) -> str:
    return f"ALTER TABLE {{table}} UNSET TBLPROPERTIES ('{key}')"


def _off_and_on(key: str) -> tuple[str, str]:
    return _set(key, "false"), _set(key)


_ASSIGN_AGAIN = ("ALTER TABLE {table} DROP FEATURE rowTracking", _set("delta.enableRowTracking"))
#: Statements of Delta Spark that carry out the remedies which are no RESTORE, or keep the rows written since.
STATEMENTS = {
    "AC03": (_set("delta.appendOnly", "false"),),
    "AC05": (_feature("domainMetadata"),),
    "AC06": (_feature("deletionVectors"),),
    "AC11": _off_and_on("delta.enableInCommitTimestamps"),
    "CM16": ("ALTER TABLE {table} DROP COLUMN v", "ALTER TABLE {table} ADD COLUMN v STRING"),
    "MD03": (_set("note", "somebody"),),
    "MD20": ("ALTER TABLE {table} DROP CONSTRAINT c",),
    "MD26": (_set("delta.appendOnly"),),
    "MD30": ("ALTER TABLE {table} CLUSTER BY (v)",),
    "RT01": (_set("delta.enableRowTracking"),),
    **dict.fromkeys(("RT03", "RT04", "RT07", "RT08", "RT09", "RT10", "RT11", "RT13", "RT14", "RT17"), _ASSIGN_AGAIN),
    "RT05": _off_and_on("delta.enableRowTracking"),
    "RT33": (_unset("delta.rowTrackingSuspended"),),
    "TF09": (_feature("appendOnly"),),
    "TF11": (_feature("deletionVectors"),),
    "TF12": (_feature("deletionVectors"),),
    "TF14": (_feature("changeDataFeed"),),
    "TF15": (_unset("delta.enableDeletionVectors"),),
    "TF16": ("ALTER TABLE {table} DROP FEATURE `typeWidening-preview`",),
    "TF22": (_feature("timestampNtz"),),
    "TF25": (_set("delta.enableIcebergCompatV2", "false"),),
    "TW01": (_feature("typeWidening"),),
    "TW02": (_feature("typeWidening"),),
    "TW14": (_feature("timestampNtz"),),
}
#: Goes back to a version of the table at a path; returns why the engine refuses
#: that (empty if it names no condition), else None.
Going = Callable[[Path, int], "str | None"]
#: Runs a statement on the table at a path; returns why the engine refuses that, as above.
Running = Callable[[Path, str], "str | None"]


def outcomes(restore: Going, folder: Path) -> dict[str, str]:
    """Return by rule: ``healed``, ``stands``, or ``refused``, with the reason if the engine names one."""
    return {code: _outcome(TRIED[code], restore, folder / code) for code in sorted(TRIED)}


def outcomes_of_statements(run: Running, folder: Path) -> dict[str, str]:
    """Return the same of :data:`STATEMENTS`."""

    def run_all(code: str) -> Going:
        return lambda path, _: next((no for each in STATEMENTS[code] if (no := run(path, each)) is not None), None)

    return {code: _outcome(FIRST[code], run_all(code), folder / f"{code}-statements") for code in sorted(STATEMENTS)}


def recorded(engine: str, found: dict[str, str]) -> dict[str, str]:
    """Return what is recorded of an engine; with DELTA_RECORD_REMEDIES=1, that is what was found now."""
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if os.environ.get("DELTA_RECORD_REMEDIES"):
        known[engine] = found
        RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return dict(known.get(engine, {}))


def _outcome(case: Case, restore: Going, path: Path) -> str:
    table, version = damaged(case)
    disk = OnDisk(path, table)
    refused = restore(path, version - 1)
    if refused is not None:
        return f"refused: {refused}" if refused else "refused"
    try:
        findings = audited(disk.commits())
    except BrokenLogError:
        return "stands"
    standing = {(finding.code, finding.version) for finding in findings if finding.healed_version is None}
    return "stands" if (case.code, version) in standing else "healed"
