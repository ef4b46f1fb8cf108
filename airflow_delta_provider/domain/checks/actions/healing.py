"""Until when what the actions of a commit did stays wrong.

What that depends on besides the finding is kept as details, from which a later audit resumes.
"""

from __future__ import annotations

from collections.abc import Callable

from airflow_delta_provider.domain.checks.healing import Details
from airflow_delta_provider.domain.delta.features.commits import DOMAIN_METADATA
from airflow_delta_provider.domain.delta.features.data_files import DELETION_VECTORS
from airflow_delta_provider.domain.delta.in_commit_timestamps import due_enablement, has_timestamps
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

#: Whether a violation is still open after a commit.
Holds = Callable[[Transition], bool]


def until_file_is_back(finding: Finding, _: Details) -> Holds:
    """Until the file is back, or the table is no longer to be appended to only."""

    def holds(later: Transition) -> bool:
        back = any(file.path == finding.path for file in later.commit.adds)
        return not back and later.after.metadata.properties.append_only

    return holds


def until_rows_are_back(finding: Finding, _: Details) -> Holds:
    """Until the file is back, or all are replaced."""
    return lambda later: (
        not (
            (later.replaces_all and later.commit.removes)
            or any(file.path == finding.path for file in later.commit.adds)
        )
    )


def until_all_is_replaced(_: Finding, __: Details) -> Holds:
    """Until the version before is back, or all files are replaced."""
    return lambda later: not (later.restores or (later.replaces_all and later.commit.removes))


def size_before(finding: Finding, transition: Transition) -> Details:
    """Return the size of the file before the commit."""
    return {"size": transition.before_files[finding.path or ""].size}


def until_size_is_right(finding: Finding, details: Details) -> Holds:
    """Until the file is said to be as large as before."""
    size = details["size"]
    return lambda later: not any(file.path == finding.path and file.size == size for file in later.commit.adds)


def enablement_due(_: Finding, transition: Transition) -> Details:
    """Return the properties by which the table has to say since when there are timestamps."""
    return {"due": dict(due_enablement(transition))}


def until_enablement_is_right(_: Finding, details: Details) -> Holds:
    """Until the properties are right, or the timestamps are off."""
    due = dict(details["due"]).items()

    def holds(later: Transition) -> bool:
        configuration = later.after.metadata.configuration
        right = due <= configuration.items()
        anew = bool(later.commit.metadata) and not has_timestamps(later.before)
        return has_timestamps(later.after) and not right and not anew

    return holds


def until_domain_is_set_once(finding: Finding, _: Details) -> Holds:
    """Until a commit sets the domain, or removes it, once."""
    return lambda later: [domain.domain for domain in later.commit.domains].count(finding.subject or "") != 1


def until_transaction_is_set_once(finding: Finding, _: Details) -> Holds:
    """Until a commit sets the transaction of the application once."""
    return lambda later: [str(txn.get("appId")) for txn in later.commit.transactions].count(finding.subject or "") != 1


def until_domain_is_allowed(finding: Finding, _: Details) -> Holds:
    """Until the feature is there, or the domain is not."""

    def holds(later: Transition) -> bool:
        return not later.after.protocol.supports(DOMAIN_METADATA) and finding.subject in later.after.domains

    return holds


def until_vector_is_allowed(finding: Finding, _: Details) -> Holds:
    """Until the feature is there, or the file has no deletion vector."""

    def holds(later: Transition) -> bool:
        whole = any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)
        return not whole and not later.after.protocol.supports(DELETION_VECTORS)

    return holds


def vectors_now(finding: Finding, transition: Transition) -> Details:
    """Return the deletion vectors that the commit gives the file."""
    return {"vectors": sorted({file.key[1] for file in transition.commit.adds if file.path == finding.path})}


def until_another_vector(finding: Finding, details: Details) -> Holds:
    """Until the file is added with another deletion vector, which is judged anew, or without."""
    vectors = set(details["vectors"])
    return lambda later: not any(f.path == finding.path and f.key[1] not in vectors for f in later.commit.adds)


def until_vector_is_wanted(finding: Finding, _: Details) -> Holds:
    """Until the file has none, or they are enabled."""

    def holds(later: Transition) -> bool:
        whole = any(file.path == finding.path and file.deletion_vector is None for file in later.commit.adds)
        return not (whole or later.after.metadata.properties.deletion_vectors)

    return holds
