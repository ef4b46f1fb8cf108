"""No false alarms: audits say nothing of what engines wrote, as a whole, from any version on, and bit by bit."""

from __future__ import annotations

import shutil

import pytest

from airflow_delta_provider.domain.report.report import Severity
from tests.tables import log
from tests.tables.audit_stories import KNOWN, QUICK, STORIES
from tests.tables.audit_stories.telling import tell

pytestmark = pytest.mark.nightly

#: What engines do by custom, and a table's owner may leave at that: another id for a table that is replaced,
#: and metadata that is written again as it was.
_CUSTOMARY = {("MD08", Severity.WARNING), ("MD12", Severity.WARNING)}


def told(report):
    """The rules that a table's owner has to look into."""
    return {f.code for f in report.findings if (f.code, f.severity) not in _CUSTOMARY}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.soak) for name in STORIES]
)
def test_nothing_is_wrong_with_what_delta_wrote(spark, audit, tmp_path, name):
    path = tmp_path / "t"
    tell(spark, path, STORIES[name])
    whole, newest = audit(path), log.newest(path)
    if min(log.commits(path)):  # the log was cleaned up
        (begun,) = [f.version for f in whole.findings if f.code == "LG01"]
        assert told(whole) == {"LG01"}
    else:
        begun = 0
        assert told(whole) == KNOWN.get(name, set())
        assert told_bit_by_bit(audit, path, tmp_path) == KNOWN.get(name, set())
    for since in range(begun, newest + 1):
        later = each(f for f in whole.findings if f.version > since and f.code != "LG01")
        assert each(audit(path, since_version=since).findings) == later, f"since {since}"


def each(findings):
    """The findings that are told one by one: of warnings that were healed, the first is told for all."""
    return {f.fingerprint for f in findings if f.severity is not Severity.WARNING or f.healed_version is None}


def told_bit_by_bit(audit, path, directory):
    """Let the log grow by one version after the other, and return what an audit that remembers tells meanwhile."""
    grown, seen = directory / "grown" / path.name / "_delta_log", set()
    grown.mkdir(parents=True)
    if (path / "_delta_log" / "_sidecars").exists():
        shutil.copytree(path / "_delta_log" / "_sidecars", grown / "_sidecars")
    for version in range(log.newest(path) + 1):
        for file in path.glob(f"_delta_log/{version:020d}.*"):
            shutil.copy(file, grown)
        seen |= told(audit(grown.parent, state_path=str(directory / "memory")))
    return seen
