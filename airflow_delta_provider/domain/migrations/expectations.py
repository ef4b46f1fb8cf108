"""Declared freshness and number of rows, compared with the log.

No migration can reach them, so they are not part of a plan.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.drift import EXPECTATION_UNDECIDED, NOT_FRESH, OTHER_ROW_COUNT
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.commit import Action, commit_info, provenance_of, time_of
from airflow_delta_provider.domain.delta.features.log import IN_COMMIT_TIMESTAMP
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.table_properties import duration_text
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.spec.table_spec import Rows

#: Maximum difference between the clocks of writers and this one. A later time is not the time of the commit.
_FUTURE = timedelta(days=1)


class TimeSource(str, Enum):
    """The place in a commit that states its time."""

    IN_COMMIT = "inCommitTimestamp"
    STATED = "commitInfo.timestamp"


@dataclass(frozen=True)
class DataCommit:
    """A commit that bounds the age of a table's data.

    :param version: its version
    :param time: its time; None if it states none
    :param source: place of the time
    :param changes_data: True if it changed data; otherwise it is the oldest known commit, and no later one did
    :param provenance: fields of a finding that describe who made it
    """

    version: int
    time: datetime | None
    source: TimeSource
    changes_data: bool
    provenance: Mapping[str, Any]

    @classmethod
    def of(cls, version: int, actions: Iterable[Action], state: TableState) -> DataCommit:
        """Read a commit.

        :param state: newest state; it decides which time readers use
        """
        actions = list(actions)
        info = commit_info(actions)
        own = state.metadata.properties.in_commit_timestamps and state.protocol.supports(IN_COMMIT_TIMESTAMP)
        source = TimeSource.IN_COMMIT if own and "inCommitTimestamp" in info else TimeSource.STATED
        text = time_of(info.get("inCommitTimestamp" if source is TimeSource.IN_COMMIT else "timestamp"))
        time = None if text is None else datetime.fromisoformat(text)
        return cls(version, time, source, any(map(_changes_data, actions)), provenance_of(info))


def _changes_data(action: Action) -> bool:
    bodies = (action.get(kind) for kind in ("add", "remove"))
    return any(isinstance(body, Mapping) and body.get("dataChange", True) is True for body in bodies)


@on_demand(NOT_FRESH, EXPECTATION_UNDECIDED)
def check_freshness(limit: timedelta, commit: DataCommit | None, now: datetime) -> Iterator[Finding]:
    """Yield a finding if the data is too old, or if its age cannot be decided.

    :param commit: newest commit that changed data, or else the oldest commit in the log; None if a commit in between
        cannot be read
    """
    wanted = duration_text(limit)
    if commit is None or commit.time is None or commit.time - now > _FUTURE:
        why = "the commits were cleaned up, or one cannot be read"
        if commit is not None:
            why = f"version {commit.version} states no time"
            if commit.time is not None:
                why = f"the time of version {commit.version}, {_shown(commit.time)}, lies in the future"
        yield EXPECTATION_UNDECIDED.found(
            "The spec declares freshness {wanted}, but the age of the data is unknown: {why}.",
            wanted=wanted,
            why=Prose(why),
        )
        return
    age = now - commit.time
    if age > limit:
        what = "Data last changed at {time} ({source}), {age} ago"
        if not commit.changes_data:
            what = "No commit since {time} ({source}), {age} ago, changed data"
        yield NOT_FRESH.found(
            what + ", but freshness {wanted} is declared.",
            version=commit.version,
            made_by=commit.provenance,
            wanted=wanted,
            time=_shown(commit.time),
            source=commit.source.value,
            age=Prose(_age(age)),
        )
    elif not commit.changes_data and commit.version > 0:
        yield EXPECTATION_UNDECIDED.found(
            "The spec declares freshness {wanted}, but the log begins with version {first}, and no commit since then "
            "changed data.",
            wanted=wanted,
            first=Prose(commit.version),
        )


@on_demand(OTHER_ROW_COUNT, EXPECTATION_UNDECIDED)
def check_rows(wanted: Rows, files: Iterable[LiveFile]) -> Iterator[Finding]:
    """Yield a finding if the number of rows is outside the bounds, or if that cannot be decided.

    :param files: live files
    """
    rows = unknown = total = 0
    for file in files:
        total += 1
        if file.live_rows is None:
            unknown += 1
        else:
            rows += file.live_rows
    too_many = wanted.most is not None and rows > wanted.most
    too_few = wanted.least is not None and rows < wanted.least
    if too_many or (too_few and not unknown):
        at_least = Prose("at least " if unknown else "")
        yield OTHER_ROW_COUNT.found(
            "The table has {at_least}{rows:row}, but {wanted} are declared.",
            at_least=at_least,
            rows=Prose(f"{rows:,}") if unknown else rows,
            wanted=str(wanted),
        )
    elif unknown and (too_few or wanted.most is not None):
        yield EXPECTATION_UNDECIDED.found(
            "The spec declares {wanted} rows, but {unknown} of {files:live file} have no row count in the log. The "
            "others have {rows:row}.",
            wanted=str(wanted),
            unknown=unknown,
            files=total,
            rows=rows,
        )


def _shown(time: datetime) -> str:
    return time.astimezone(timezone.utc).isoformat(timespec="milliseconds")


def _age(age: timedelta) -> str:
    hours = age.total_seconds() / 3600
    if hours >= 48:
        return f"{hours / 24:.0f} days"
    return f"{hours:.0f} hours" if hours >= 2 else f"{hours * 60:.0f} minutes"
