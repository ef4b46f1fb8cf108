"""RESTORE, which many remedies name, on each damage of a commit, as an engine does it; and what is recorded of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.remedy import Restore
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from tests.unit.audit.test_audit_history import damaged
from tests.unit.damages import CASES
from tests.unit.local_table import OnDisk
from tests.unit.log_builder import audited

RECORD = Path(__file__).parent / "restoring.json"
#: One damage for each rule whose remedy is RESTORE.
TRIED = {case.code: case for case in reversed(CASES) if isinstance(RULES[case.code].remedy, Restore)}
#: Goes back to a version of the table at a path; returns why the engine refuses
#: that (empty if it names no condition), else None.
Going = Callable[[Path, int], "str | None"]


def outcomes(restore: Going, folder: Path) -> dict[str, str]:
    """Return by rule: ``healed``, ``stands``, or ``refused``, with the reason if the engine names one."""
    return {code: _outcome(code, restore, folder / code) for code in sorted(TRIED)}


def recorded(engine: str, found: dict[str, str]) -> dict[str, str]:
    """Return what is recorded of an engine; with DELTA_RECORD_REMEDIES=1, that is what was found now."""
    known = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    if os.environ.get("DELTA_RECORD_REMEDIES"):
        known[engine] = found
        RECORD.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return dict(known.get(engine, {}))


def _outcome(code: str, restore: Going, path: Path) -> str:
    table, version = damaged(TRIED[code])
    disk = OnDisk(path, table)
    refused = restore(path, version - 1)
    if refused is not None:
        return f"refused: {refused}" if refused else "refused"
    try:
        findings = audited(disk.commits())
    except BrokenLogError:
        return "stands"
    standing = {(finding.code, finding.version) for finding in findings if finding.healed_version is None}
    return "stands" if (code, version) in standing else "healed"
