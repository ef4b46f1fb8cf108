"""AC01, AC02 and AC11: in-commit timestamps."""

from __future__ import annotations

from tests.unit.damages.case import KEPT, NEVER, Case
from tests.unit.damages.edits import configured, info
from tests.unit.damages.histories import plain, timed, timed_late
from tests.unit.damages.steps import append, enable_timestamps, set_property
from tests.unit.log_builder import Actions, Damage, body

_VERSION = "delta.inCommitTimestampEnablementVersion"
_TIMESTAMP = "delta.inCommitTimestampEnablementTimestamp"
#: When the first append was made.
_BEFORE = 1_790_000_001_000


def enabled_at(milliseconds: int) -> Damage:
    """Enabled at another time, consistently."""

    def damage(actions: Actions) -> None:
        body(actions, "commitInfo")["inCommitTimestamp"] = milliseconds
        body(actions, "metaData")["configuration"][_TIMESTAMP] = str(milliseconds)

    return damage


CASES = (
    Case("AC01", timed, append, info(inCommitTimestamp="1790000003000"), "commitInfo", healed_by=NEVER, name="text"),
    Case("AC01", timed, append, info(inCommitTimestamp=1.5), "commitInfo", healed_by=NEVER, name="fraction"),
    Case("AC02", timed, append, info(inCommitTimestamp=1_790_000_002_000), "commitInfo", healed_by=NEVER, name="same"),
    Case(
        "AC02", plain, enable_timestamps, enabled_at(1_790_000_001_000), "commitInfo", healed_by=NEVER, name="enabled"
    ),
    Case("AC11", plain, enable_timestamps, configured(**{_TIMESTAMP: "1"}), "metaData", healed_by=KEPT, name="time"),
    Case("AC11", timed_late, set_property, configured(**{_VERSION: "99"}), "metaData", healed_by=KEPT, name="ahead"),
    Case("AC11", timed_late, set_property, configured(**{_TIMESTAMP: "x"}), "metaData", healed_by=KEPT, name="no time"),
)
