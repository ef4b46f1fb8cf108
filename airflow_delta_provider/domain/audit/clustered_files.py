"""What older files lack of the columns that a commit clusters the table by. PROTOCOL.md, Clustered Table."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from airflow_delta_provider.domain.audit.past_log import PastLog
from airflow_delta_provider.domain.checks.metadata.clustering import check_newly_clustered, clustering_paths
from airflow_delta_provider.domain.delta.clustering import CLUSTERING
from airflow_delta_provider.domain.delta.live_file import FileKey
from airflow_delta_provider.domain.delta.transition import Transition
from airflow_delta_provider.domain.report.finding import Finding


def check_older_files(transition: Transition, live: Collection[FileKey], log: PastLog) -> Iterator[Finding]:
    """Yield the files that have no statistics of a column that the table is newly clustered by.

    Those that the commit itself adds are left out: they are judged like those of any other commit.

    :param live: the keys of the files after the commit
    """
    if not any(domain.domain == CLUSTERING for domain in transition.commit.domains):
        return
    before = clustering_paths(transition.before)
    paths = [path for path in clustering_paths(transition.after) if path not in before]
    older = frozenset(key for key in live if key not in transition.commit.added) if paths else frozenset()
    if older:
        for _, add in sorted(log.last_adds(transition.commit.version, older).items()):
            yield from check_newly_clustered(add, paths)
