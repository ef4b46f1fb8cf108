"""The kept part of the log, and the part that an audit covered: LG01, LG02 and LG13."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.checks.log.family import BRING_BACK, FAMILY, HISTORY
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.log_files import commit_name
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.report.verdict import Severity

HISTORY_NOT_KEPT = HISTORY.undecided(
    1,
    "older commits are not kept",
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
    effect="The versions after the gap, or those before the next checkpoint, can no longer be read.",
    remedy=BRING_BACK,
)


@on_demand(GAP)
def gap(first: int, end: int, *, unreadable: bool) -> Finding:
    """Return the finding about commits that are missing between others.

    :param first: first missing version
    :param end: last missing version
    :param unreadable: whether the table cannot be read after the gap; otherwise the finding is a warning
    """
    named = commit_name(first) if first == end else f"{commit_name(first)} to {commit_name(end)}"
    return GAP.found(
        "The log has no {missing}, although it has older and newer commits.",
        severity=None if unreadable else Severity.WARNING,
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
