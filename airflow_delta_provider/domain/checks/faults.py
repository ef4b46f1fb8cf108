"""``FT``: what the provider or the platform could not do."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.rule import RuleFamily, Scope

FAMILY = RuleFamily(
    "FT", "faults", "What the provider or the platform could not do. They say nothing of what the table is."
)
_platform = FAMILY.of(Scope.PLATFORM)

STORAGE = _platform.error(
    1,
    "storage or credentials failed",
    remedy="Check the location and its scheme, the storage's driver, the network and the credentials.",
)
ENGINE = _platform.error(
    2,
    "the engine failed",
    remedy="Run the job again; if it fails again, look into the log of Spark.",
)
UNEXPECTED = _platform.error(
    3,
    "unexpected error in the job",
    remedy="Report it: it is a defect of the provider.",
)
UNVERIFIED = _platform.undecided(
    4,
    "change committed, but not verified",
    effect="The table was changed, and nobody has looked whether it came out right.",
    remedy="See to what the message names, and run the job again: with nothing left to do, it verifies only.",
)
