"""What each rule needs of the past, besides the commit that it judges: what of it is remembered, what is read again.

An audit that begins at a version has the past from its commits. One that goes on from what an earlier one remembered
must not judge by less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto

from airflow_delta_provider.domain.checks.registry import CATALOGUE
from airflow_delta_provider.domain.checks.usage_tracking import checks as usage_tracking
from airflow_delta_provider.domain.delta.row_tracking import row_tracking_of
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.report.verdict import Severity


class Need(Enum):
    """Something of the past."""

    STATE = auto()
    """Protocol, metadata and domains of the version before: remembered."""
    COMMIT = auto()
    """What the commit before says of itself: remembered."""
    FILES = auto()
    """The live files: read again where a commit may be about one of them."""
    PATHS = auto()
    """Whether a file was ever part of the table: read again where the commit alone would break the rule."""
    VERSIONS = auto()
    """Whether the table was like this in an earlier version: read again where the commit would break the rule."""
    COLUMN_IDS = auto()
    """Which columns each physical path has led to: remembered."""
    USED_FEATURES = auto()
    """Features that some version used: remembered."""
    EVER_DROPPED = auto()
    """Whether some version said that columns had been dropped: remembered."""
    HIGH_WATER_MARK = auto()
    """The last high water mark of row ids that was there: remembered."""
    LOG = auto()
    """Files of the log besides the new commits: looked at where they are new since."""


_CHANGE = {Need.STATE, Need.VERSIONS}
_FILE_CHANGE = {Need.STATE, Need.FILES}
_NEW_FILE = {Need.STATE, Need.HIGH_WATER_MARK, Need.PATHS}

#: By the code of each rule of scope pair or history that an audit judges by, and of others that look back.
NEEDS: Mapping[str, frozenset[Need]] = {
    code: frozenset(needs)
    for codes, needs in (
        (("LG01", "LG02", "LG05", "LG07", "LG10", "LG12"), {Need.LOG}),
        (("LG13",), set[Need]()),
        (("LG08",), {Need.LOG, Need.STATE, Need.FILES}),
        (("LG04",), {Need.FILES}),
        (("AC02",), {Need.STATE, Need.COMMIT}),
        (("AC11",), {Need.STATE}),
        (("AC03", "AC13"), _FILE_CHANGE | {Need.VERSIONS}),
        (("AC09", "AC15"), {Need.FILES}),
        (("AC14",), {Need.FILES, Need.VERSIONS}),
        (("TF11", "TF12"), _CHANGE),
        (("TF14",), _CHANGE | {Need.USED_FEATURES}),
        (("MD08", "MD10", "MD11", "MD12", "MD15", "MD16"), _CHANGE | {Need.FILES}),
        (("CM09", "CM10", "CM11", "CM12", "CM13"), _CHANGE | {Need.FILES}),
        (("CM16",), _CHANGE | {Need.FILES, Need.COLUMN_IDS}),
        (("UT04",), _FILE_CHANGE | {Need.EVER_DROPPED}),
        (("UT05", "UT06", "UT07"), _CHANGE | {Need.FILES}),
        (("TW08", "TW09", "TW11", "TW12"), _CHANGE | {Need.FILES}),
        (("TW15",), {Need.STATE}),
        (("RT07", "RT10", "RT11"), _FILE_CHANGE | {Need.HIGH_WATER_MARK, Need.VERSIONS}),
        (("RT08", "RT12", "RT14"), _FILE_CHANGE),
        (("RT15",), _NEW_FILE),
        (("RT16",), {Need.STATE, Need.PATHS}),
        (("RT17",), _CHANGE | {Need.FILES}),
    )
    for code in codes
}

#: Where a table may break a rule for what only an audit's memory still tells.
_MATTERS: Mapping[Need, Callable[[TableState], bool]] = {
    Need.COLUMN_IDS: lambda state: state.metadata.properties.is_mapped,
    Need.EVER_DROPPED: lambda state: usage_tracking.is_supported(state) and not usage_tracking.is_true(state),
    Need.HIGH_WATER_MARK: lambda state: (
        state.protocol.supports("rowTracking") and row_tracking_of(state).high_water_mark is None
    ),
}


def needing(need: Need) -> frozenset[str]:
    """Return the codes of the rules that need something."""
    return frozenset(code for code, needs in NEEDS.items() if need in needs)


def undecidable_rules(state: TableState) -> list[str]:
    """Return the codes of the errors that nobody can tell of the next commits who knows nothing but a state."""
    matters = {need for need, applies in _MATTERS.items() if applies(state)}
    return [code for code, needs in NEEDS.items() if needs & matters and CATALOGUE[code].severity is Severity.ERROR]
