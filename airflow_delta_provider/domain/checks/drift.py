"""``DR``: differences between a table and the spec that declares it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Union

from airflow_delta_provider.domain.checks.check import on_demand
from airflow_delta_provider.domain.checks.rule import Prose, Rule, RuleFamily, Scope
from airflow_delta_provider.domain.report.report import Finding

FAMILY = RuleFamily(
    "DR",
    "drift",
    "Differences between a table and its spec. Each finding names the commit that made the difference, if the log "
    "still has it.",
)
_APPLY = "If the spec is right, apply it (apply-migration); if the table is right, declare its state."
_spec = FAMILY.of(Scope.SPEC, remedy=_APPLY)

ANOTHER_TABLE = _spec.error(
    1,
    "table has another id",
    name="table-id-differs-from-spec",
    effect="The table was replaced, or the spec is for another table; other differences mean nothing then.",
    remedy="Check the location; if the table was replaced on purpose, declare its id.",
)
COLUMN_MISSING = _spec.error(
    2,
    "declared column is missing",
    name="declared-column-missing",
    effect="Queries and jobs that use the declared column fail, or read NULL.",
)
OTHER_NAME = _spec.error(
    3,
    "column has another name",
    name="column-name-differs-from-spec",
    effect="Queries and jobs that use the declared name fail, or read NULL.",
)
COLUMN_UNDECLARED = _spec.error(
    4,
    "column that should not be there",
    name="unwanted-column",
    effect="Queries and jobs that read all columns get one more than declared.",
)
OTHER_TYPE = _spec.error(
    5,
    "column has another type",
    name="column-type-differs-from-spec",
    effect="Queries and jobs that expect the declared type fail, overflow or convert values.",
)
OTHER_NULLABILITY = _spec.error(
    6,
    "column has another nullability",
    name="column-nullability-differs-from-spec",
    effect="NULL values reach readers that do not expect them, or writers fail when they write NULL, which the spec "
    "allows.",
)
OTHER_ORDER = _spec.error(
    7,
    "columns are in another order",
    name="column-order-differs-from-spec",
    effect="Tools that match columns by position read and write the wrong ones.",
)
OTHER_COMMENT = _spec.error(
    8,
    "column has another comment",
    name="column-comment-differs-from-spec",
    effect="Catalogs and people see another comment than declared.",
)
OTHER_DEFAULT = _spec.error(
    9,
    "column has another default",
    name="column-default-differs-from-spec",
    effect="Rows that are written without the column get another value than declared.",
    source="PROTOCOL.md, Default Columns",
)
OTHER_GENERATION = _spec.error(
    10,
    "column has another generation expression",
    name="generation-expression-differs-from-spec",
    effect="Rows have other values than declared.",
    remedy="If the expression was lost, RESTORE the table to the version before, which loses later rows. Otherwise "
    "declare the expression of the table: only a new table can have another one.",
    source="PROTOCOL.md, Generated Columns",
)
OTHER_PROPERTY = _spec.error(
    11,
    "table property is not as declared",
    name="property-differs-from-spec",
    effect="Engines treat the table differently than declared.",
    source="PROTOCOL.md, Table Properties",
)
FEATURE_MISSING = _spec.error(
    12,
    "declared table feature is not enabled",
    name="declared-feature-not-enabled",
    effect="Consumers that rely on the feature do not get it.",
    source="PROTOCOL.md, Table Features",
)
FEATURE_UNWANTED = _spec.error(
    13,
    "table feature that should not be there",
    name="unwanted-feature",
    effect="Engines that do not support the feature are locked out.",
    source="PROTOCOL.md, Table Features",
)
OTHER_CONSTRAINT = _spec.error(
    14,
    "CHECK constraint is not as declared",
    name="check-constraint-differs-from-spec",
    effect="Rows can be written that the spec forbids, or writers fail on rows that it allows.",
    source="PROTOCOL.md, CHECK Constraints",
)
OTHER_PARTITIONING = _spec.error(
    15,
    "table has other partition columns",
    name="partition-columns-differ-from-spec",
    effect="Queries that filter by the declared partition columns read more files.",
)
OTHER_CLUSTERING = _spec.error(
    16,
    "table has other clustering columns",
    name="clustering-columns-differ-from-spec",
    effect="Queries that filter by the declared columns read more files.",
    source="PROTOCOL.md, Clustered Table",
)
OTHER_TABLE_COMMENT = _spec.error(
    17,
    "table has another comment",
    name="table-comment-differs-from-spec",
    effect="Catalogs and people see another comment than declared.",
)

_expectation = FAMILY.of(Scope.SPEC, remedy="Find out what happened to the writer; or correct the spec.")
NOT_FRESH = _expectation.error(
    18,
    "data is older than declared",
    name="data-not-fresh",
    effect="Queries and jobs work with old data, without an error.",
)
OTHER_ROW_COUNT = _expectation.error(
    19,
    "table has more or fewer rows than declared",
    name="row-count-differs-from-spec",
    effect="Rows were lost, written twice, or not written yet; queries return wrong results without an error.",
)
EXPECTATION_UNDECIDED = _expectation.undecided(
    20,
    "declared freshness or number of rows cannot be decided",
    name="expectation-undecidable",
    effect="Nobody notices if data is old or rows are missing.",
    remedy="See the reason in the finding. Writers that record numRecords and commit times make it decidable.",
)

#: A declared or actual value: one string, several, or nothing.
ComparedValue = Union[str, tuple[str, ...], None]


class Difference(NamedTuple):
    """One difference between a table and its spec.

    :param wanted: declared value; None if nothing is declared
    :param actual: value in the table; None if there is none
    """

    rule: Rule
    wanted: ComparedValue
    actual: ComparedValue
    column: str | None = None
    subject: str | None = None


@dataclass(frozen=True)
class Origin:
    """The commit that caused a difference.

    :param version: version of the commit
    :param provenance: fields of a finding that describe who made the commit
    :param at_or_before: True if the log does not go back far enough: the difference already existed at this version
    """

    version: int
    provenance: Mapping[str, Any] = field(default_factory=dict)
    at_or_before: bool = False

    def __str__(self) -> str:
        if self.at_or_before:
            return f" since version {self.version} or earlier"
        operation, engine = self.provenance.get("operation"), self.provenance.get("engine")
        user, time = self.provenance.get("user"), self.provenance.get("timestamp")
        made = " ".join(filter(None, (operation, f"by {engine}" if engine else None)))
        by = ", ".join(filter(None, (made, f"user {user}" if user else None, time)))
        since = f" since version {self.version}" if self.version else " since the table was created"
        return f"{since} ({by})" if by else since


@on_demand(*(rule for rule in FAMILY.rules if rule not in (NOT_FRESH, OTHER_ROW_COUNT, EXPECTATION_UNDECIDED)))
def drift(difference: Difference, origin: Origin | None) -> Finding:
    """Return the finding about a difference.

    :param origin: commit that caused it; None if unknown
    """
    found = difference.rule.found(
        _EVIDENCE[difference.rule, difference.wanted is None, difference.actual is None],
        since=Prose("" if origin is None else origin),
        column=difference.column,
        subject=difference.subject,
        wanted=difference.wanted,
        actual=difference.actual,
        declared=Prose(_text(difference.wanted)),
        there=Prose(_text(difference.actual)),
    )
    if origin is None:
        return found
    known = {"version": origin.version} if origin.at_or_before else {**origin.provenance, "version": origin.version}
    return replace(found, at_or_before=origin.at_or_before or None, **known)


def _text(value: ComparedValue) -> str:
    if value is None or value == ():
        return "nothing"
    return value if isinstance(value, str) else ", ".join(value)


def _sentences() -> Mapping[tuple[Rule, bool, bool], str]:
    """Return the sentences by rule, by whether nothing is declared, and by whether the table has nothing."""
    both = {
        ANOTHER_TABLE: "The table has the id {there}{since}, but {declared} is declared.",
        OTHER_NAME: "{column} is called {there}{since}.",
        OTHER_TYPE: "{column} is {there}{since}, but {declared} is declared.",
        OTHER_NULLABILITY: "{column} is {there}{since}, but {declared} is declared.",
        OTHER_ORDER: "The order is {there}{since}, but {declared} is declared.",
        OTHER_COMMENT: "The comment of {column} is {actual!r}{since}, but {wanted!r} is declared.",
        OTHER_DEFAULT: "The default of {column} is {there}{since}, but {declared} is declared.",
        OTHER_GENERATION: "{column} is generated by {there}{since}, but {declared} is declared.",
        OTHER_PROPERTY: "The property {subject} is {actual!r}{since}, but {wanted!r} is declared.",
        FEATURE_MISSING: "The feature {subject} is only {there}{since}, but should be {declared}.",
        OTHER_CONSTRAINT: "The constraint {subject} is CHECK ({there}){since}, but CHECK ({declared}) is declared.",
        OTHER_PARTITIONING: "The table is partitioned by {there}{since}, but {declared} is declared.",
        OTHER_CLUSTERING: "The table is clustered by {there}{since}, but {declared} is declared.",
        OTHER_TABLE_COMMENT: "The comment of the table is {actual!r}{since}, but {wanted!r} is declared.",
    }
    undeclared = {
        COLUMN_UNDECLARED: "{column} ({there}) is in the table{since}, and should not be.",
        OTHER_COMMENT: "The comment of {column} is {actual!r}{since}, but none is declared.",
        OTHER_DEFAULT: "The default of {column} is {there}{since}, but none is declared.",
        OTHER_PROPERTY: "The property {subject} is {actual!r}{since}, and should not be set.",
        FEATURE_UNWANTED: "The feature {subject} is in the protocol{since}, and should not be.",
        OTHER_CONSTRAINT: "The constraint {subject}, CHECK ({there}), is there{since}, and should not be.",
        OTHER_TABLE_COMMENT: "The comment of the table is {actual!r}{since}, but none is declared.",
    }
    missing = {
        COLUMN_MISSING: "{column} ({declared}) is not in the table{since}.",
        OTHER_COMMENT: "{column} has no comment{since}, but {wanted!r} is declared.",
        OTHER_DEFAULT: "{column} has no default{since}, but {declared} is declared.",
        OTHER_GENERATION: "{column} is not generated{since}, but {declared} is declared.",
        OTHER_PROPERTY: "The property {subject} is not set{since}, but {wanted!r} is declared.",
        FEATURE_MISSING: "The feature {subject} is not in the protocol{since}, but should be {declared}.",
        OTHER_CONSTRAINT: "There is no constraint {subject}{since}, but CHECK ({declared}) is declared.",
        OTHER_TABLE_COMMENT: "The table has no comment{since}, but {wanted!r} is declared.",
    }
    return {
        **{(rule, False, False): text for rule, text in both.items()},
        **{(rule, True, False): text for rule, text in undeclared.items()},
        **{(rule, False, True): text for rule, text in missing.items()},
    }


_EVIDENCE = _sentences()
