"""Dropping row tracking gives up all row ids: violations of those of live files end."""

from __future__ import annotations

import json

import pytest

from tests.unit.audit.test_audit_history import damaged
from tests.unit.damages import FIRST
from tests.unit.log_builder import Table, audited


@pytest.mark.parametrize("code", ["RT08", "RT09", "RT13", "RT14", "RT15", "RT16", "RT17", "RT33"])
def test_violation_of_row_ids_ends_with_row_tracking(code: str) -> None:
    table, version = damaged(FIRST[code])
    assert (code, version) in standing(table)
    table.drop_row_tracking()
    assert (code, version) not in standing(table)
    table.enable_row_tracking()
    assert (code, version) not in standing(table)


def test_row_ids_that_were_assigned_while_suspended_are_no_mixture_once_it_is_resumed() -> None:
    table, version = damaged(FIRST["RT33"])
    table.set_properties(delta__rowTrackingSuspended=None)
    assert ("RT33", version) not in standing(table)


def standing(table: Table) -> set[tuple[str, int | None]]:
    return {(finding.code, finding.version) for finding in audited(table.commits) if finding.healed_version is None}


@pytest.mark.parametrize("written", ['{"rowIdHighWaterMark":9,"domainName":"delta.rowTracking"}', "not JSON"])
def test_domain_removed_as_it_was_but_for_how_it_is_written_is_the_same(written: str) -> None:
    table = Table().support("domainMetadata").append()
    was = written if written == "not JSON" else json.dumps(json.loads(written), sort_keys=True, indent=1)
    domain = {"domain": "somebody", "configuration": was, "removed": False}
    table.commit("SET", {"domainMetadata": domain})
    table.commit("UNSET", {"domainMetadata": {**domain, "configuration": written, "removed": True}})
    assert standing(table) == set()
