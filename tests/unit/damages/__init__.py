"""Damages of one commit, one for each rule that a log can break, and the histories that they happen to."""

from __future__ import annotations

from tests.unit.damages import (
    actions,
    column_mapping,
    log,
    metadata,
    protocol,
    row_tracking,
    type_widening,
    usage_tracking,
)

_FAMILIES = (protocol, metadata, column_mapping, usage_tracking, type_widening, row_tracking, actions, log)
CASES = tuple(case for family in _FAMILIES for case in family.CASES)
#: The first damage for each rule.
FIRST = {case.code: case for case in reversed(CASES)}
assert len(CASES) == len({(case.code, case.name) for case in CASES}), "two damages of one rule have one name"
