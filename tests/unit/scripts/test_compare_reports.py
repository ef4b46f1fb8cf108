"""The script that compares the reports of two checkouts."""

from __future__ import annotations

from typing import Any

from scripts.compare_reports import differences


def report(*findings: dict[str, Any], **known: Any) -> dict[str, Any]:
    return {"table": "t", "verdict": "VIOLATED", "version": 4, "timings": {}, "findings": list(findings), **known}


def finding(code: str, **known: Any) -> dict[str, Any]:
    return {"code": code, "severity": "ERROR", "message": "wrong", "fingerprint": f"print of {code}", **known}


def found(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    return [what for what, _ in differences(old, new)]


def test_text_times_and_keys_that_were_added_are_no_difference() -> None:
    old = report(finding("RT01", version=3))
    new = report(finding("RT01", version=3, title="new", message="worded otherwise"), timings={"list": 1}, more={})
    assert found(old, new) == []


def test_everything_else_is() -> None:
    old = report(finding("RT01", version=3), finding("RT02", caused_by="print of RT01"), finding("RT05"))
    new = report(finding("RT01", version=3, healed_version=4), finding("RT02"), finding("RT06"), verdict="PASS")
    assert sorted(found(old, new)) == ["RT01 healed_version", "RT02 caused_by", "RT05 missing", "RT06 added", "verdict"]


def test_of_several_findings_at_one_place_the_most_similar_are_compared() -> None:
    old = report(finding("RT01", action="a"), finding("RT01", action="b"))
    assert found(old, report(*reversed(old["findings"]))) == []
