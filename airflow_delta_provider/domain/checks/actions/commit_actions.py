"""What has to hold of the actions of one commit together: AC03 to AC07, AC14, AC15, LG03 and
LG04.

Its time is judged in :mod:`.in_commit_timestamps`, its numbers of rows in :mod:`.row_counts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from airflow_delta_provider.domain.checks.actions import row_counts, rules
from airflow_delta_provider.domain.checks.actions.in_commit_timestamps import check_timestamps
from airflow_delta_provider.domain.checks.check import on_commit, on_transition
from airflow_delta_provider.domain.checks.log import rules as log_rules
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.features.commits import APPEND_ONLY, DOMAIN_METADATA
from airflow_delta_provider.domain.delta.features.data_files import DELETION_VECTORS
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding

_REMEDY = "Update the engine that wrote this commit"
_RESTORE = "RESTORE the table to the version before"


@on_transition()
def check_change(transition: Transition) -> Iterator[Finding]:
    """Yield what the actions of a commit must not do on such a table."""
    for rule in _TRANSITION_RULES:
        yield from rule(transition)
    yield from check_timestamps(transition, transition.past.previous)


@on_commit()
def check_commit(commit: Commit) -> Iterator[Finding]:
    """Yield which actions of a commit exclude each other."""
    for rule in _COMMIT_RULES:
        yield from rule(commit)


def _file_twice(commit: Commit) -> Iterator[Finding]:
    keys = [file.key for file in commit.adds] + [file.key for file in commit.removes]
    if len(set(keys)) == len(keys):
        return
    path, vector = next(key for key, times in Counter(keys).items() if times > 1)
    added = sum(1 for file in commit.adds if file.key == (path, vector))
    removed = keys.count((path, vector)) - added
    what = f"adds {path} {added} times" if not removed else f"removes {path} {removed} times"
    if added and removed:
        what = f"both adds and removes {path}"
    yield log_rules.FILE_TWICE.finding(
        f"The commit of version {commit.version} {what}{' with the same deletion vector' if vector else ''}: which of "
        "the actions counts is up to the reader, so that readers may see different tables. RESTORE the table to the "
        f"version before and write the commit's data again. {_REMEDY}.",
        path=path,
        **commit.provenance,
    )


def _domain_twice(commit: Commit) -> Iterator[Finding]:
    for domain, times in Counter(domain.domain for domain in commit.domains).items():
        if times > 1:
            yield rules.DOMAIN_TWICE.finding(
                f"The commit of version {commit.version} holds {times} domainMetadata actions for {domain}: which one "
                f"counts is up to the reader. Set it again in one commit. {_REMEDY}.",
                subject=domain,
                **commit.provenance,
            )


def _transaction_twice(commit: Commit) -> Iterator[Finding]:
    for application, times in Counter(str(txn.get("appId")) for txn in commit.transactions).items():
        if times > 1:
            yield rules.TRANSACTION_TWICE.finding(
                f"The commit of version {commit.version} holds {times} txn actions for the application {application}: "
                f"a stream that goes on from there may write data twice, or leave some out. {_REMEDY}.",
                subject=application,
                **commit.provenance,
            )


def _two_vectors(transition: Transition) -> Iterator[Finding]:
    """LG04, as far as the commit's own actions show it."""
    added: dict[str, LiveFile] = {}
    for file in transition.commit.adds:
        other = added.setdefault(file.path, file)
        if other.key != file.key:
            yield _live_twice(transition, file)
            return


def _live_twice(transition: Transition, file: LiveFile) -> Finding:
    return log_rules.TWO_DELETION_VECTORS.finding(
        f"The commit adds {file.path} with a deletion vector while the file is live with another one, or without: its "
        f"rows are read twice. {_RESTORE} and write the change again. {_REMEDY}.",
        path=file.path,
        **transition.commit.provenance,
    )


def _removed_from_append_only(transition: Transition) -> Iterator[Finding]:
    before = transition.before
    if not before.metadata.properties.append_only:
        return
    if not before.protocol.supports(APPEND_ONLY) or transition.restores:
        return
    removed = [file for file in transition.commit.removes if file.data_change]
    if removed and transition.removed_files:
        yield rules.REMOVED_FROM_APPEND_ONLY.finding(
            f"{APPEND_ONLY.enabling_property} is true, but the commit removes data: {len(removed)} "
            f"file{'s' if len(removed) > 1 else ''}, the first one {removed[0].path}. Readers that follow the table "
            f"by what is appended never learn of it. {_RESTORE}, or set the property to false if that was meant.",
            path=removed[0].path,
            **transition.commit.provenance,
        )


def _domain_without_feature(transition: Transition) -> Iterator[Finding]:
    domains = [domain for domain in transition.commit.domains if not domain.removed]
    if domains and not any(state.protocol.supports(DOMAIN_METADATA) for state in (transition.before, transition.after)):
        yield rules.DOMAIN_WITHOUT_FEATURE.finding(
            f"The commit sets domainMetadata of {domains[0].domain}, but the protocol ({transition.after.protocol}) "
            "does not have domainMetadata: writers may lose it without a word. Enable it: "
            "DeltaEnableFeatureOperator(features=['domainMetadata']).",
            subject=domains[0].domain,
            **transition.commit.provenance,
        )


def _vector_without_feature(transition: Transition) -> Iterator[Finding]:
    with_vector = [file for file in transition.commit.adds if file.deletion_vector is not None]
    if with_vector and not transition.after.protocol.supports(DELETION_VECTORS):
        yield rules.DELETION_VECTOR_WITHOUT_FEATURE.finding(
            f"The commit adds {with_vector[0].path} with a deletion vector, but the protocol "
            f"({transition.after.protocol}) does not have deletionVectors: readers that do not know the feature open "
            "the table and return the deleted rows. Enable it: "
            "DeltaEnableFeatureOperator(features=['deletionVectors']).",
            path=with_vector[0].path,
            **transition.commit.provenance,
        )


def _removed_not_live(transition: Transition) -> Iterator[Finding]:
    """AC14: of what changes no data, only where files take the place of those; else it may be what was no data file."""
    commit = transition.commit
    live = {file.key for file in transition.before_files.values()}
    times = Counter(file.path for file in commit.removes)
    for file in commit.removes:
        if file.key in live or times[file.path] > 1 or _is_absolute(file.path):
            continue
        if not (file.data_change or commit.adds):
            continue
        other = transition.before_files.get(file.path)
        what = "is live with another deletion vector" if other is not None else "is not in the table"
        yield rules.REMOVED_NOT_LIVE.finding(
            f"The commit removes {file.path}, which {what}: the file that was meant may still be read, and with it "
            "rows that the commit deleted or wrote anew elsewhere. Compare the table with its version before; if rows "
            "are there twice or deleted ones came back, RESTORE that version and write the change again.",
            path=file.path,
            **commit.provenance,
        )
        return


def _overwritten(transition: Transition) -> Iterator[Finding]:
    for file in transition.commit.adds:
        live = transition.before_files.get(file.path)
        if live is not None and live.size != file.size:
            yield rules.FILE_OVERWRITTEN.finding(
                f"{file.path} is live with {live.size} bytes, and the commit adds it again with {file.size}: it was "
                "overwritten, though no data file ever may be, or one of the two is wrong. Readers fail, or read other "
                "rows. RESTORE the table to a version before the file was added, and find the writer that uses a name "
                "twice.",
                path=file.path,
                **transition.commit.provenance,
            )
            return


def _is_absolute(path: str) -> bool:
    """Whether a path may be written in several ways, of which engines take some for the same."""
    return path.startswith("/") or ":" in path


_COMMIT_RULES: tuple[Callable[[Commit], Iterator[Finding]], ...] = (_file_twice, _domain_twice, _transaction_twice)
_TRANSITION_RULES: tuple[Callable[[Transition], Iterator[Finding]], ...] = (
    _two_vectors,
    _removed_from_append_only,
    _domain_without_feature,
    _vector_without_feature,
    _removed_not_live,
    _overwritten,
    row_counts.check_transition,
)


def check_live_vectors(transition: Transition, live: Sequence[LiveFile]) -> Iterator[Finding]:
    """Yield that a commit makes a file live twice: LG04.

    :param live: files that are live after it under a path that it adds, and with another deletion vector
    """
    for file in live[:1]:
        yield _live_twice(transition, file)
