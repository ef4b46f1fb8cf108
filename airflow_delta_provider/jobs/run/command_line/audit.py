"""The command line of the kind ``audit``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.request.audit import FAIL_ON, AuditOptions
from airflow_delta_provider.domain.request.check_row_tracking import LEVELS
from airflow_delta_provider.jobs.run.command_line.command import Command


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--level", choices=LEVELS, default="log", help="rules of the log (default), also footers, also row ids"
    )
    parser.add_argument("--since-version", type=int, metavar="VERSION", help="judge the commits after this one only")
    parser.add_argument("--version", type=int, help="judge up to this version; default the newest")
    parser.add_argument("--timestamp", metavar="TIME", help="or up to the newest version that is not later, ISO 8601")
    parser.add_argument("--rule", action="append", default=[], metavar="CODE", help="apply this rule; may be repeated")
    parser.add_argument("--fail-on", choices=FAIL_ON, default="error", help="what makes a table VIOLATED")
    parser.add_argument("--waivers", metavar="FILE", type=_entries, default=(), help="accepted findings, YAML or JSON")
    parser.add_argument(
        "--owners",
        metavar="FILE",
        type=_entries,
        default=(),
        help="whose tables are, and how much rules weigh there, YAML or JSON: entries of table, owner, severities",
    )
    parser.add_argument("--state-path", metavar="DIRECTORY", help="where audits remember what they have seen")
    parser.add_argument("--seconds-per-table", type=float, metavar="SECONDS", help="after which a table is given up")


def _options(parsed: argparse.Namespace) -> AuditOptions:
    return AuditOptions(
        level=parsed.level,
        since_version=parsed.since_version,
        version=parsed.version,
        timestamp=parsed.timestamp,
        rules=tuple(parsed.rule),
        fail_on=parsed.fail_on,
        waivers=parsed.waivers,
        state_path=parsed.state_path,
        ownership=parsed.owners,
        seconds_per_table=parsed.seconds_per_table,
    )


def _entries(path: str) -> tuple[Any, ...]:
    """Read a file of entries; YAML where PyYAML is installed, JSON anywhere."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        try:
            entries = json.loads(text)
        except ValueError:
            import yaml  # type: ignore[import-untyped]

            entries = yaml.safe_load(text) or []
    except ImportError:
        raise argparse.ArgumentTypeError(f"{path} is not JSON; for YAML install PyYAML") from None
    except Exception as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from None
    return tuple(entries) if isinstance(entries, list) else (entries,)


AUDIT = Command(AuditOptions.kind, "judge the whole history by every rule of the protocol", _add_arguments, _options)
