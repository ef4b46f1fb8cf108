"""The kept part of the log, and the part that an audit covered: LG01, LG02 and LG13."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_delta_provider.domain.checks.check import on_demand, on_state
from airflow_delta_provider.domain.checks.log import BRING_BACK, FAMILY, HISTORY
from airflow_delta_provider.domain.checks.protocol.lists import UNKNOWN_FEATURE
from airflow_delta_provider.domain.checks.rule import Prose, Scope
from airflow_delta_provider.domain.delta.features.owners import CATALOG_MANAGED as MANAGED
from airflow_delta_provider.domain.delta.features.registry import CATALOG_MANAGED, FEATURES
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.delta.table_properties import ENABLE_IN_COMMIT_TIMESTAMPS
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.report import Finding, Severity

HISTORY_NOT_KEPT = HISTORY.undecided(
    1,
    "older commits are not kept",
    name="older-commits-not-kept",
    effect="Earlier commits cannot be checked, only the state that they led to.",
    remedy="Audit the table more often than its log is cleaned up.",
    source="PROTOCOL.md, Metadata Cleanup",
    reported_once=True,
)


@on_demand(HISTORY_NOT_KEPT)
def not_kept(first: int, since: int | None) -> Finding:
    """Return the finding about a log that begins too late.

    :param first: first version that the log can reconstruct
    :param since: version after which commits were to be checked; None for all
    """
    if since is not None:
        return HISTORY_NOT_KEPT.found(
            "The log no longer leads to version {since}, only to version {version} and later ones.",
            effect="Commits up to that version cannot be checked, only the state that they led to.",
            remedy=f"Audit the table more often than its log is cleaned up, or since version {first} or a later one.",
            version=first,
            since=since,
        )
    return HISTORY_NOT_KEPT.found(
        "The log is kept from version {version} on.",
        effect="Earlier commits cannot be checked, only the state that they led to; violations in that state may be "
        "old.",
        remedy=f"To audit only later commits, set since_version={first} (--since-version {first}), or a state_path "
        "(--state-path).",
        version=first,
    )


@on_demand(HISTORY_NOT_KEPT)
def state_of_older_release(version: int, codes: Sequence[str]) -> Finding:
    """Return the finding about an audit that resumes from the state of an older release.

    :param version: last version that the older release audited
    :param codes: codes of the rules that need more of the past
    """
    return HISTORY_NOT_KEPT.found(
        "An older release of this package audited the table up to version {version} and saved too little for "
        "{codes}. The log no longer has the earlier commits that those rules need.",
        effect="This audit cannot tell whether later commits broke these rules.",
        remedy="No action is needed: the next audits have the data that they need.",
        version=version,
        codes=list(codes),
    )


GAP = HISTORY.error(
    2,
    "commit missing",
    name="commit-missing",
    effect="The versions after the gap, or those before the next checkpoint, can no longer be read.",
    remedy=BRING_BACK,
    source="PROTOCOL.md, Delta Log Entries and Metadata Cleanup",
)


@on_demand(GAP)
def gap(first: int, end: int, *, unreadable: bool, lost: bool) -> Finding:
    """Return the finding about commits that are missing between others.

    It is a warning if neither parameter is true.

    :param first: first missing version
    :param end: last missing version
    :param unreadable: True if the table cannot be read after the gap
    :param lost: True if no clean-up explains the gap: commits before it can be read, and commits after it cannot
    """
    named = commit_name(first) if first == end else f"{commit_name(first)} to {commit_name(end)}"
    return GAP.found(
        "The log has no {missing}, although it has older and newer commits.",
        severity=None if unreadable or lost else Severity.WARNING,
        effect=f"The table cannot be read after version {first - 1}."
        if unreadable
        else "Older versions can no longer be read, and readers that follow the table miss them.",
        version=first,
        path=f"_delta_log/{commit_name(first)}",
        missing=named,
    )


OUT_OF_TIME = FAMILY.of(Scope.HISTORY, "").undecided(
    13,
    "audit stopped at its time limit",
    name="audit-time-limit-reached",
    effect="Later commits, or data files, were not checked.",
    remedy="Give the audit more seconds_per_table (--seconds-per-table), a state_path (--state-path) or a lower level.",
)


@on_demand(OUT_OF_TIME)
def out_of_time(version: int, last: int, seconds: float | None) -> Finding:
    """Return the finding about an audit that stopped before ``version``; the newest version is ``last``."""
    return OUT_OF_TIME.found(
        "The audit took more than {seconds:g} seconds and stopped before version {version}; the newest version is "
        "{last}. Findings up to then are reported.",
        version=version,
        last=last,
        seconds=seconds or 0.0,
    )


@on_demand(OUT_OF_TIME)
def out_of_time_reading(version: int, read: str, files: int, seconds: float | None) -> Finding:
    """Return the finding about an audit that stopped after its last commit.

    :param read: parts of the files that were read
    :param files: number of data files
    """
    return OUT_OF_TIME.found(
        "The audit took more than {seconds:g} seconds and stopped while it read data files: of {files:file} it read "
        "{read}. All commits were checked, and findings up to then are reported.",
        version=version,
        read=Prose(read),
        files=files,
        seconds=seconds or 0.0,
    )


MANAGED_BY_CATALOG = FAMILY.of(Scope.STATE).undecided(
    6,
    "the catalog knows more than the log",
    name="catalog-ahead-of-log",
    effect="Some commits may not be in the directory yet, so the directory may not show the current state of the "
    "table.",
    remedy="Check the table in a place where it can be read through its catalog.",
    source="PROTOCOL.md, Catalog-managed tables",
)


@on_state(MANAGED_BY_CATALOG)
def check_state(state: TableState) -> Iterator[Finding]:
    """Yield a finding if a catalog manages the table and so may know more than its log."""
    managing = sorted(state.protocol.features.intersection(CATALOG_MANAGED))
    if managing:
        yield MANAGED_BY_CATALOG.found(
            "The table is managed by a catalog: its protocol has {features}.", features=managing, version=state.version
        )


_SOURCE = "PROTOCOL.md, Writer Requirements for Catalog-managed tables"

WITHOUT_TIMESTAMPS = FAMILY.of(Scope.STATE, _SOURCE).error(
    19,
    "catalog-managed table without in-commit timestamps",
    name="catalog-managed-without-in-commit-timestamps",
    effect="Commits are published later than they are made, so readers that rely on the times of files get other "
    "versions than the catalog says.",
    remedy="Set delta.enableInCommitTimestamps to true.",
    shows="metaData",
)


@on_state(WITHOUT_TIMESTAMPS)
def _timestamps(state: TableState) -> Iterator[Finding]:
    if state.protocol.supports(MANAGED) and not state.metadata.properties.in_commit_timestamps:
        yield WITHOUT_TIMESTAMPS.found(
            "The protocol has catalogManaged, but delta.enableInCommitTimestamps is {value}.",
            value=state.metadata.configuration.get(ENABLE_IN_COMMIT_TIMESTAMPS, "missing"),
        )


@on_demand(UNKNOWN_FEATURE)
def why_undecidable(state: TableState) -> Iterator[Finding]:
    """Yield the reasons why the log does not show the table's state."""
    yield from check_state(state)
    unknown = sorted((state.protocol.reader_features or frozenset()) - FEATURES.keys())
    if unknown:
        yield UNKNOWN_FEATURE.found(
            "The protocol has the reader feature {unknown}, which this version of the provider does not know.",
            effect="The feature may change the meaning of the log.",
            remedy="Update the provider.",
            unknown=unknown,
            version=state.version,
        )
