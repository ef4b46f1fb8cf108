"""The policy for migrations.

It has weights of the rules about plans and drift, by table, and conditions for plans that need no approval.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Any

from airflow_delta_provider.domain.audit.waivers import Ownership, WaiverError, Waivers
from airflow_delta_provider.domain.checks.migrations.planned import PlannedMigration, on_plan
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.report.report import Finding, Severity
from airflow_delta_provider.domain.text import did_you_mean

_SEVERITIES: Mapping[str, Severity | None] = {"error": Severity.ERROR, "warning": Severity.WARNING, "ignored": None}
_KEYS = ("tables", "waivers")
_TABLE_KEYS = ("table", *_SEVERITIES, "max_rewrite_gb", "approve_without_asking")
_GIGABYTE = 10**9


class PolicyError(ValueError):
    """An error for an invalid policy; the message names the place and the reason."""


class Condition(str, Enum):
    """A condition for applying a plan without approval. A plan with an error always needs approval."""

    ADDITIVE = "additive"
    """It adds columns, and changes comments and properties of the users' own."""
    METADATA_ONLY = "metadata_only"
    """It rewrites no data file."""
    NO_WARNINGS = "no_warnings"
    """No rule warns about it."""
    NO_ERRORS = "no_errors"
    """No rule finds an error in it: this is so in any case, and may be the only condition."""
    NOBODY_LOCKED_OUT = "nobody_locked_out"
    """It locks no engine out that is known to use the table, and may not lock one out either."""


@dataclass(frozen=True, kw_only=True)
class TablePolicy:
    """The policy for tables whose names match a pattern.

    :param weights: severities by rule code; None leaves the rule's findings out
    :param max_rewrite_gb: limit of a migration's rewrites, in 10⁹ bytes; None for no limit
    :param approve_without_asking: conditions that a plan must all meet to need no approval; None if every plan needs
        one
    """

    table: str = "*"
    weights: Mapping[str, Severity | None] = field(default_factory=dict)
    max_rewrite_gb: float | None = None
    approve_without_asking: frozenset[Condition] | None = None

    @property
    def most_rewritten(self) -> int | None:
        """Maximum number of bytes that a migration may rewrite; None for no limit."""
        return None if self.max_rewrite_gb is None else int(self.max_rewrite_gb * _GIGABYTE)

    def fits(self, table: str) -> bool:
        return self._ownership.fits(table)

    def weigh(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return findings with the severities of this policy."""
        return self._ownership.weigh(findings)

    @property
    def _ownership(self) -> Ownership:
        return Ownership(self.table, None, self.weights)


@dataclass(frozen=True)
class Policy:
    """The policy for migrations.

    :param tables: policies by table; the first match applies
    :param waivers: accepted findings
    """

    tables: tuple[TablePolicy, ...] = ()
    waivers: Waivers = field(default_factory=Waivers)

    @classmethod
    def parse(cls, given: Any) -> Policy:
        """Read a policy file's plain values.

        They are ``tables``, a list of entries, and ``waivers``, as in an audit.

        An entry has ``table`` (a pattern), lists of codes under ``error``, ``warning`` and ``ignored``,
        ``max_rewrite_gb``, and ``approve_without_asking``, a list of conditions.

        :raises PolicyError: if it is invalid
        """
        if given is None:
            return cls()
        _check_keys(given, _KEYS, "the policy")
        entries = given.get("tables") or ()
        if not isinstance(entries, Sequence) or isinstance(entries, str):
            raise PolicyError(f"tables is {entries!r}; it has to be a list of entries.")
        try:
            waivers = Waivers.parse(given.get("waivers") or ())
        except WaiverError as error:
            raise PolicyError(f"waivers: {error}") from error
        return cls(tuple(_table(number, entry) for number, entry in enumerate(entries, start=1)), waivers)

    def of(self, table: str) -> TablePolicy:
        """Return the policy for a table."""
        return next((entry for entry in self.tables if entry.fits(table)), TablePolicy())

    def applied(self, findings: Iterable[Finding], table: str, today: date) -> tuple[Finding, ...]:
        """Return findings about a plan, its lock-outs, or drift, with the policy and its waivers applied.

        :param today: current date in UTC
        """
        return tuple(self.waivers.apply(self.of(table).weigh(findings), table, today))

    def lint(self, plan: PlannedMigration, table: str, today: date) -> tuple[Finding, ...]:
        """Return the rules' findings about a plan, as the policy weighs them.

        :param today: current date in UTC
        """
        return self.applied(on_plan.run(plan), table, today)


def approval_reasons(
    plan: PlannedMigration,
    findings: Collection[Finding],
    policy: TablePolicy,
    *,
    locks_out: bool,
    may_lock_out: bool = False,
    has_policy: bool = True,
) -> tuple[str, ...]:
    """Return reasons why a plan needs approval, as sentences; empty if it needs none.

    :param findings: findings with the policy applied
    :param locks_out: True if an engine that uses the table is locked out
    :param may_lock_out: True if it is unknown whether an engine that uses the table is locked out
    :param has_policy: False if no policy was given
    """
    if not has_policy:
        return ("There is no policy file, and only a policy file allows plans without approval.",)
    return tuple(_reasons(plan, findings, policy, locks_out=locks_out, may_lock_out=may_lock_out))


def _reasons(
    plan: PlannedMigration,
    findings: Collection[Finding],
    policy: TablePolicy,
    *,
    locks_out: bool,
    may_lock_out: bool,
) -> Iterator[str]:
    conditions = policy.approve_without_asking
    if conditions is None:
        yield "The policy allows no plan for this table without approval."
        return
    severities = [finding.severity for finding in findings if finding.is_open]
    if errors := severities.count(Severity.ERROR):
        yield f"{errors} finding{'s are errors' if errors > 1 else ' is an error'}."
    if undecided := severities.count(Severity.UNDECIDED):
        yield f"{undecided} finding{'s' * (undecided > 1)} could not be decided."
    if Condition.ADDITIVE in conditions and not plan.is_additive:
        yield "The plan does more than add columns."
    if Condition.METADATA_ONLY in conditions and plan.rewrites:
        yield "The plan rewrites data files."
    if Condition.NO_WARNINGS in conditions and Severity.WARNING in severities:
        yield "There are warnings."
    if Condition.NOBODY_LOCKED_OUT in conditions:
        if locks_out:
            yield "Engines are locked out."
        elif may_lock_out:
            yield "It is not known whether every engine that uses the table can still use it afterwards."


def _table(number: int, entry: Any) -> TablePolicy:
    where = f"entry {number} of tables"
    _check_keys(entry, _TABLE_KEYS, where)
    table = entry.get("table")
    if not isinstance(table, str) or not table:
        raise PolicyError(f"{where} names no table. Give table, a name or a pattern such as 's3://lake/*'.")
    return TablePolicy(
        table=table,
        weights=_weights(entry, table),
        max_rewrite_gb=_limit(entry.get("max_rewrite_gb"), table),
        approve_without_asking=_conditions(entry.get("approve_without_asking"), table),
    )


def _weights(entry: Mapping[str, Any], table: str) -> dict[str, Severity | None]:
    weights: dict[str, Severity | None] = {}
    for word, severity in _SEVERITIES.items():
        for code in _texts(entry.get(word), f"{word} of {table}"):
            if code not in RULES:
                raise PolicyError(f"{word} of {table} names {code!r}.{did_you_mean(code, RULES)}")
            if code in weights:
                raise PolicyError(f"{code} of {table} is named more than once. Name it once.")
            weights[code] = severity
    return weights


def _limit(given: Any, table: str) -> float | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < float("inf"):
        raise PolicyError(f"max_rewrite_gb of {table} is {given!r}; it has to be a number, 0 or above.")
    return float(given)


def _conditions(given: Any, table: str) -> frozenset[Condition] | None:
    if given is None:
        return None
    known = {condition.value: condition for condition in Condition}
    words = _texts(given, f"approve_without_asking of {table}")
    for word in words:
        if word not in known:
            raise PolicyError(
                f"approve_without_asking of {table} is {word!r}; it has to be one of {', '.join(known)}."
                f"{did_you_mean(word, known)}"
            )
    if not words:
        raise PolicyError(f"approve_without_asking of {table} is empty. Leave it out, or name a condition: no_errors.")
    return frozenset(known[word] for word in words)


def _texts(given: Any, what: str) -> tuple[str, ...]:
    """Return a list of strings; a single string counts as a list of one."""
    listed = (given,) if isinstance(given, str) else () if given is None else given
    if not isinstance(listed, (list, tuple)) or not all(isinstance(text, str) for text in listed):
        raise PolicyError(f"{what} is {given!r}; it has to be a list of strings.")
    return tuple(listed)


def _check_keys(given: Any, known: Collection[str], what: str) -> None:
    if not isinstance(given, Mapping):
        raise PolicyError(f"{what} is {given!r}; it has to be a mapping with {', '.join(known)}.")
    for key in given:
        if key not in known:
            raise PolicyError(f"{what} has the unknown key {key!r}.{did_you_mean(str(key), known)}")
