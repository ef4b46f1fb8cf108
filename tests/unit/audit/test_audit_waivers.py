from __future__ import annotations

from datetime import date

import pytest

from airflow_delta_provider.domain.audit.waivers import Ownership, OwnershipError, WaiverError, Waivers
from airflow_delta_provider.domain.report.report import Finding, Severity

TODAY = date(2026, 6, 1)
FOUND = Finding("RT08", Severity.ERROR, "Overlap.", 7, path="part-1.parquet", column="a.b", fingerprint="f00")


def entry(**known):
    return {"code": "RT08", "owner": "ann", "reason": "a pilot", "expires": "2026-06-01", **known}


def waived(*entries, finding=FOUND, table="/lake/t"):
    (result,) = Waivers.parse(list(entries)).apply([finding], table, TODAY)
    return result


@pytest.mark.parametrize(
    "bounds",
    [
        {},
        {"table": "/lake/*"},
        {"path": "part-*.parquet", "column": "a.b"},
        {"fingerprint": "f00"},
        {"table": None},
    ],
)
def test_waiver_covers_what_fits_all_its_bounds_up_to_its_last_day(bounds):
    found = waived(entry(**bounds))
    assert (found.waiver.owner, found.waiver.reason, found.waiver.expires) == ("ann", "a pilot", "2026-06-01")
    assert not found.is_open


@pytest.mark.parametrize("bounds", [{"table": "/pond/*"}, {"column": "a"}, {"fingerprint": "bad"}, {"code": "RT07"}])
def test_waiver_covers_nothing_else(bounds):
    assert waived(entry(**bounds)) == FOUND


def test_waiver_that_expired_covers_nothing_and_is_said():
    found = waived(entry(expires="2026-05-30"), entry(expires="2026-05-31", owner="bob"))
    assert found.is_open
    assert found.message == "Overlap. The waiver of bob expired on 2026-05-31."
    assert waived(entry(expires="2026-05-31"), entry(owner="bob")).waiver.owner == "bob"


@pytest.mark.parametrize("entries", ["x", {"code": "RT08"}, 7])
def test_waivers_are_a_list(entries):
    with pytest.raises(WaiverError, match="they have to be a list of entries"):
        Waivers.parse(entries)


def test_owner_makes_rules_weigh_more_less_or_nothing():
    owned = Ownership.parse({"table": "/lake/*", "owner": 7, "severities": {"RT08": "WARNING", "TF17": False}})
    assert (owned.owner, owned.fits("/lake/t"), owned.fits("/pond/t")) == ("7", True, False)
    others = [Finding("TF17", Severity.UNDECIDED, "x"), Finding("MD08", Severity.ERROR, "x")]
    weighed = owned.weigh([FOUND, *others])
    assert [(f.code, f.severity) for f in weighed] == [("RT08", Severity.WARNING), ("MD08", Severity.ERROR)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "names no table"),
        ("x", "names no table"),
        ({"table": "/t", "severity": {}}, "Did you mean 'severities'"),
        ({"table": "/t", "severities": ["RT08"]}, "has to be a mapping by code"),
        ({"table": "/t", "severities": {"RT88": "off"}}, "/t weighs 'RT88'"),
        ({"table": "/t", "severities": {"RT08": "fatal"}}, "RT08 of /t is 'fatal'; it has to be one of error"),
    ],
)
def test_entry_that_makes_no_sense_is_refused(given, message):
    with pytest.raises(OwnershipError, match=message):
        Ownership.parse(given)
