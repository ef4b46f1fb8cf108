"""What has to hold of the time that a commit says it was made at: AC01, AC02 and AC11."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_delta_provider.domain.checks.actions import rules
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.in_commit_timestamps import due_enablement, has_timestamps
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_REMEDY = "The log cannot be mended; update the engine that wrote this commit"


def check_timestamps(transition: Transition, previous: Commit | None) -> Iterator[Finding]:
    """Yield what is wrong with the time of a commit.

    :param previous: the commit before; None where it is not kept
    """
    commit = transition.commit
    if not has_timestamps(transition.after):
        return
    now = commit.info.get("inCommitTimestamp")
    if not isinstance(now, int) or isinstance(now, bool) or commit.first_kind != "commitInfo":
        what = "has no inCommitTimestamp" if not isinstance(now, int) else "does not begin with its commitInfo"
        yield rules.NO_TIMESTAMP.finding(
            f"In-commit timestamps are enabled, but the commit of version {commit.version} {what}: readers that look "
            f"for a version by its time, or follow the table by time, fail or go wrong. {_REMEDY}.",
            **commit.provenance,
        )
        return
    yield from _enablement(transition)
    if not has_timestamps(transition.before):
        return
    before = None if previous is None else previous.info.get("inCommitTimestamp")
    if isinstance(before, int) and now <= before:
        yield rules.TIMESTAMP_NOT_LATER.finding(
            f"The inCommitTimestamp of version {commit.version} is {now}, which is not after {before}, that of the "
            f"version before: readers that look for a version by its time get the wrong one. {_REMEDY}.",
            **commit.provenance,
        )


def _enablement(transition: Transition) -> Iterator[Finding]:
    """Yield that a commit enables them and does not say so, or takes away since when they are enabled: AC11.

    Only what is taken away is judged of a later commit: other values may be the right ones at last.
    """
    commit, configuration = transition.commit, transition.after.metadata.configuration
    due = due_enablement(transition)
    later = has_timestamps(transition.before)
    said_now = {name: configuration.get(name) for name in due}
    wrong = [name for name, now in said_now.items() if now is None or (now != due[name] and not later)]
    if wrong:
        said = " and ".join(f"{name} is {configuration.get(name, 'missing')}, not {due[name]}" for name in wrong)
        what = "leaves in-commit timestamps enabled" if later else "enables in-commit timestamps"
        yield rules.NO_ENABLEMENT.finding(
            f"The commit {what} on a table that has versions without them, but {said}: readers "
            "that look for a version by its time take the times of older versions for such timestamps, and go wrong or "
            "fail. Disable delta.enableInCommitTimestamps and enable it again with an up-to-date engine.",
            **commit.provenance,
        )
