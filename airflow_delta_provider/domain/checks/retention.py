"""``RE``: streams that a clean-up breaks, and retentions that engines do not follow."""

from __future__ import annotations

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.rule import Prose, RuleFamily, Scope
from airflow_delta_provider.domain.report.report import Finding

FAMILY = RuleFamily(
    "RE",
    "retention",
    "Streams that read a table, and the commits and files that they still need: after a VACUUM or a log clean-up, they "
    "fail or skip rows.",
)
_history = FAMILY.of(Scope.HISTORY)
CATCH_UP = "Let the stream catch up first, or keep files and commits longer."

CONSUMER_BROKEN = _history.error(
    1,
    "a stream needs data that is gone",
    name="consumer-needs-lost-data",
    effect="The stream fails when it continues. With ignoreMissingFiles or failOnDataLoss=false it "
    "silently skips rows.",
    remedy="Restore the files or commits from a backup. Otherwise start the stream again with a new checkpoint, and "
    "load the rows in between from the table.",
)
VACUUM_BREAKS_CONSUMER = _history.error(
    2,
    "a VACUUM would delete files that a stream needs",
    name="vacuum-breaks-consumer",
    effect="After the VACUUM the stream fails when it continues, or silently skips rows.",
    remedy=CATCH_UP,
)
CLEAN_UP_BREAKS_CONSUMER = _history.error(
    3,
    "a log clean-up would delete commits that a stream needs",
    name="log-clean-up-breaks-consumer",
    effect="After the next checkpoint of the table the stream fails when it continues, or silently skips rows.",
    remedy=f"{CATCH_UP} The property delta.logRetentionDuration decides how long commits are kept.",
)
CONSUMER_UNKNOWN = _history.undecided(
    4,
    "unknown whether a clean-up breaks a stream",
    name="consumer-undecidable",
    effect="A clean-up may break the stream.",
    remedy="Name the checkpoint folder of a stream that reads this table and has committed a batch.",
)
HISTORY_UNREADABLE = _history.undecided(
    5,
    "the history of the table cannot be read",
    name="retention-undecidable",
    effect="Complete versions and the effect of a clean-up are unknown.",
    remedy="Audit the table: the audit names the damaged file.",
)
RETENTION_NOT_FOLLOWED = _history.warning(
    6,
    "the planned retention differs from the table's",
    name="vacuum-retention-not-followed",
    effect="Delta Spark 4.4 ignores RETAIN unless it is 0 and follows the table's property. Other engines refuse a "
    "shorter retention, or delete files that readers and writers of older versions still use.",
    remedy="Set delta.deletedFileRetentionDuration to the planned retention.",
)


@on_demand(CONSUMER_BROKEN)
def consumer_broken(consumer: str, version: int, why: str) -> Finding:
    """Return the finding about a stream that cannot continue.

    :param why: reason, a phrase
    """
    return CONSUMER_BROKEN.found(
        "The stream with the checkpoint {consumer} reads version {version} next, but {why}.",
        subject=consumer,
        consumer=consumer,
        version=version,
        why=Prose(why),
    )


@on_demand(VACUUM_BREAKS_CONSUMER)
def vacuum_breaks(consumer: str, version: int, retention: str) -> Finding:
    """Return the finding about a stream that a planned VACUUM breaks."""
    return VACUUM_BREAKS_CONSUMER.found(
        "The stream with the checkpoint {consumer} reads version {version} next. A VACUUM with a retention of "
        "{retention} would delete files that it still has to read.",
        subject=consumer,
        consumer=consumer,
        version=version,
        retention=retention,
    )


@on_demand(CLEAN_UP_BREAKS_CONSUMER)
def clean_up_breaks(consumer: str, version: int, retention: str) -> Finding:
    """Return the finding about a stream that the next log clean-up breaks."""
    return CLEAN_UP_BREAKS_CONSUMER.found(
        "The stream with the checkpoint {consumer} reads version {version} next. Its commit is older than the "
        "retention of the log, {retention}.",
        subject=consumer,
        consumer=consumer,
        version=version,
        retention=retention,
    )


@on_demand(CONSUMER_UNKNOWN)
def consumer_unknown(consumer: str, why: str, remedy: str | None = None) -> Finding:
    """Return the finding about a stream that cannot be checked.

    :param why: reason, a phrase
    :param remedy: remedy, if it is not the rule's
    """
    return CONSUMER_UNKNOWN.found(
        "The stream with the checkpoint {consumer} cannot be checked: {why}.",
        remedy=remedy,
        subject=consumer,
        consumer=consumer,
        why=Prose(why),
    )


@on_demand(HISTORY_UNREADABLE)
def history_unreadable(why: str) -> Finding:
    """Return the finding about a history that cannot be read.

    :param why: reason, a phrase
    """
    return HISTORY_UNREADABLE.found("The commits in the log cannot all be read: {why}.", why=Prose(why))


@on_demand(RETENTION_NOT_FOLLOWED)
def retention_not_followed(planned: str, property_name: str, own: str) -> Finding:
    """Return the finding about a planned retention that is not the table's."""
    return RETENTION_NOT_FOLLOWED.found(
        "A VACUUM with a retention of {planned} is planned, and {property} is {own}.",
        subject=property_name,
        planned=planned,
        property=property_name,
        own=own,
    )
