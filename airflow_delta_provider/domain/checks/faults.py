"""``FT``: failures of the provider or the platform."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

FAMILY = RuleFamily("FT", "faults", "Failures of the provider or the platform. They say nothing about the table.")
_platform = FAMILY.of(Scope.PLATFORM)

STORAGE = _platform.error(
    1,
    "storage, credentials or the platform failed",
    name="storage-or-platform-failed",
    remedy="Check the location and its scheme, the storage's driver, the network, the credentials and the memory.",
)
ENGINE = _platform.error(
    2, "the engine failed", name="engine-failed", remedy="Run the job again; if it fails again, check the Spark log."
)
UNEXPECTED = _platform.error(
    3, "unexpected error in the job", name="unexpected-job-error", remedy="Report it: this is a bug in the provider."
)
UNVERIFIED = _platform.undecided(
    4,
    "committed but unverified",
    name="committed-but-unverified",
    effect="The change was committed, but the result has not been verified.",
    remedy="Run the job again once that is fixed: with nothing left to do, it only verifies.",
)
NOT_SAVED = _platform.warning(
    5,
    "state could not be saved",
    name="state-not-saved",
    effect="The next run looks at everything again, and reports the same findings as new.",
    remedy="Check that the job may write at state_path (--state-path), and that there is room.",
)
