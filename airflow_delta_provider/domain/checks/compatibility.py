"""``CP``: engines that a table locks out, or would lock out after a change."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

FAMILY = RuleFamily(
    "CP",
    "compatibility with engines",
    "Engines that a table locks out, or would lock out after a change: those that wrote to it recently, and those that "
    "a fleet file declares.",
    source="PROTOCOL.md, Table Features",
)
_state = FAMILY.of(Scope.STATE)

DECLARE_VERSION = "Declare which version of the engine is used."
_KEEP = (
    "Keep the table as it is, or first move the engine to a release that supports the named features and type changes."
)
READ_LOCKED = _state.error(
    1,
    "an engine cannot read the table",
    name="engine-cannot-read-table",
    effect="The engine refuses the table, so its jobs fail.",
    remedy=_KEEP,
)
WRITE_LOCKED = _state.error(
    2,
    "an engine cannot write to the table",
    name="engine-cannot-write-table",
    effect="The engine's writes to the table fail.",
    remedy=_KEEP,
)
SILENT_WRONG_RESULTS = _state.error(
    3,
    "an engine misreads or damages the table without an error",
    name="engine-misreads-or-damages-silently",
    effect="The engine returns wrong values, or writes data that other engines misread, and reports no error.",
    remedy="Keep that engine away from the table before the table has the named features or type changes.",
)
UNKNOWN_SUPPORT = _state.undecided(
    4,
    "unknown whether an engine supports the table",
    name="engine-support-unknown",
    effect="The engine may refuse the table, or misread it.",
    remedy="Try the engine on a copy of the table, and add its behavior to the profiles of the fleet file.",
)
UNIDENTIFIED_WRITER = _state.undecided(
    5,
    "a writer of the table is not known",
    name="unknown-table-writer",
    effect="It is unknown whether a change would lock the writer out.",
    remedy="Find out which engine it is. If it signs its commits, describe it in the profiles of the fleet file.",
)
WRITERS_NOT_IN_LOG = _state.warning(
    6,
    "the log does not go back far enough to show all recent writers",
    name="log-too-short-to-show-writers",
    effect="A writer that is not in the log may be locked out without being named.",
    remedy="Check fewer days, or declare the writers in a fleet file.",
)
PROBE_REFUSED = _state.error(
    7,
    "the installed engine does not read the table",
    name="installed-engine-cannot-read-table",
    effect="Jobs with this release of the engine fail on the table.",
    remedy=_KEEP,
)
PROBE_UNDECIDED = _state.warning(
    8,
    "the installed engine could not be tried on the table",
    name="installed-engine-not-tried",
    effect="Only the profile of the engine shows whether it reads the table.",
    remedy="Install the package, or fix the error that the engine reports, and check again.",
)
NO_ENGINE_KNOWN = _state.undecided(
    9,
    "no engine is known that uses the table",
    name="no-known-engine",
    effect="It is unknown whether the change would lock an engine out.",
    remedy="Declare the engines that use the table in a fleet file, or check more days.",
)
DIFFERENT_ROWS = _state.error(
    10,
    "installed engines read different rows of the table",
    name="engines-read-different-rows",
    effect="At least one engine returns wrong rows, without an error.",
    remedy="Find out which rows are right, as several engines can have the same fault. Keep the others away from the "
    "table, or use other releases.",
)
ROWS_NOT_COMPARED = _state.undecided(
    11,
    "rows of engines were not compared",
    name="engine-rows-not-compared",
    effect="Whether the engines read the same rows is unknown.",
    remedy="Install further engines beside this package, and run the command again.",
)
