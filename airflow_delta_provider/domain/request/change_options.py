"""Options that several kinds of changes have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from airflow_delta_provider.domain.request.fleet import FleetFile
from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.value import Flag


@dataclass(frozen=True, kw_only=True)
class ChangeOptions(Options):
    """Options of a kind that changes tables."""

    changes: ClassVar[bool] = True

    allow_unsafe_log_store: bool = option(
        Flag(), "confirm that nothing else writes to the table (needed on S3 without a multi-writer LogStore)"
    )


@dataclass(frozen=True, kw_only=True)
class KeepsFleet(ChangeOptions):
    """Options of a change that may lock engines out."""

    fleet: Mapping[str, Any] | None = option(
        FleetFile(),
        "engines that read and write tables, and which of them have to stay able to, a YAML or JSON file: what "
        "locks one of these out is refused",
        metavar="FILE",
    )


@dataclass(frozen=True, kw_only=True)
class UpgradesProtocol(KeepsFleet):
    """Options of a change that may add table features."""

    allow_protocol_upgrade: bool = option(Flag(), "allow protocol upgrades that lock out older readers and writers")


@dataclass(frozen=True, kw_only=True)
class RewritesFiles(ChangeOptions):
    """Options of a change that may rewrite data files."""

    allow_rewrite: bool = option(Flag(), "allow rewriting all data files")


@dataclass(frozen=True, kw_only=True)
class LocksWritersOut(ChangeOptions):
    """Options of a change after which no engine may be able to write to the table."""

    acknowledge_writer_lockout: bool = option(
        Flag(), "allow columnMappingUsageTracking (experimental), with which no engine can write to the table"
    )
