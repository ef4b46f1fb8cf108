from __future__ import annotations

import time
from contextlib import suppress

import pytest

from airflow_delta_provider.domain.audit.past import find_version_range
from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.report.report import Severity


def log(commits, checkpoints=()):
    return [f"{v:020d}.json" for v in commits] + [f"{v:020d}.checkpoint.parquet" for v in checkpoints]


def told(span):
    base = None if span.base is None else span.base.version
    return base, span.first, span.last, [(f.code, f.severity, f.version) for f in span.findings]


E, W, U = Severity.ERROR, Severity.WARNING, Severity.UNDECIDED


@pytest.mark.parametrize(
    ("names", "newest", "since", "expected"),
    [
        (log(range(4)), 3, None, (None, 0, 3, [])),
        (log(range(4), [2]), 3, None, (None, 0, 3, [])),
        (log(range(4)), 2, None, (None, 0, 2, [])),
        (log(range(4)), 3, 1, (1, 2, 3, [])),
        (log(range(4)), 3, 3, (3, 4, 3, [])),
        (log(range(2, 5), [2]), 4, None, (2, 3, 4, [("LG01", U, 2)])),
        (log(range(2, 5), [3]), 4, None, (3, 4, 4, [("LG01", U, 3)])),
        (log([], [3]), 3, None, (3, 4, 3, [("LG01", U, 3)])),
        (log(range(2, 6), [2]), 5, 4, (4, 5, 5, [])),
        (log(range(2, 6), [2]), 5, 1, (2, 3, 5, [("LG01", U, 2)])),
        (log([0, 1, 3, 4]), 4, None, (None, 0, 1, [("LG02", E, 2)])),
        (log([0, 1, 3, 4], [3]), 4, None, (3, 4, 4, [("LG02", W, 2), ("LG01", U, 3)])),
        (log([10, 11, 13, 14, 15, 16], [10, 15]), 16, None, (15, 16, 16, [("LG02", E, 12), ("LG01", U, 15)])),
        (log([0, 1, 3, 4, 5], [4]), 5, None, (4, 5, 5, [("LG02", E, 2), ("LG01", U, 4)])),
        (log([10, 11, 14, 15, 16], [10, 12, 15]), 16, None, (15, 16, 16, [("LG02", E, 12), ("LG01", U, 15)])),
        # As a clean-up leaves it that did not come to the end.
        (log([10, 11, 14, 15, 16], [10, 14]), 16, None, (14, 15, 16, [("LG02", W, 12), ("LG01", U, 14)])),
        (log([10, 11, 14, 15, 16], [10, 13]), 16, None, (13, 14, 16, [("LG02", W, 12), ("LG01", U, 13)])),
        (log([5, 8, 9, 10], [9]), 10, None, (9, 10, 10, [("LG02", W, 6), ("LG01", U, 9)])),
        (log([0, 1, 4, 5, 7], [4]), 7, None, (4, 5, 5, [("LG02", W, 2), ("LG02", E, 6), ("LG01", U, 4)])),
    ],
)
def test_span_is_what_the_files_lead_to(names, newest, since, expected):
    assert told(find_version_range(names, newest, since)) == expected


def test_log_that_leads_nowhere_is_broken():
    with pytest.raises(BrokenLogError, match=r"00000000000000000000\.json and 1 more missing"):
        find_version_range(log([2, 3]), 3)


@pytest.mark.parametrize("commits", [range(0, 60_000, 2), range(1, 30_001)])
def test_hopeless_log_takes_no_time(commits):
    names, started = log(commits), time.process_time()
    with suppress(BrokenLogError):
        find_version_range(names, max(commits))
    assert time.process_time() - started < 20
