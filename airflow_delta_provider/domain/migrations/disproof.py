"""Planned steps that must fail, according to the statistics in the log.

A step must fail if it forbids NULL in a column that has NULLs, if rows break its CHECK constraint, or if values do not
fit its type.

PROTOCOL.md, Per-file Statistics: bounds and counts of nulls are exact if the file has no deletion vector and its
bounds are tight. Then the bounds of integers are values of the file. Bounds of other types may be rounded or cut off,
so they prove nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.steps import Parts, Step, each_step, earlier_path
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.delta.column_statistics import BOUNDS, COUNTS, read_statistics
from airflow_delta_provider.domain.delta.data_type import (
    ArrayType,
    Column,
    MapType,
    StructType,
    UnknownColumnError,
    all_columns,
    lowered,
    parse_path,
    path_text,
)
from airflow_delta_provider.domain.delta.metadata import physical_parts
from airflow_delta_provider.domain.delta.sql_type import parse_sql_type
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.difference import forbidden_nulls
from airflow_delta_provider.domain.report.report import Finding

_BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_PATH = r"(?:`(?:[^`]|``)*`|[^\W\d]\w*)(?:\.(?:`(?:[^`]|``)*`|[^\W\d]\w*))*"
_NUMBER = r"[+-]?\d{1,19}"
_BETWEEN = re.compile(rf"({_PATH})\s+between\s+({_NUMBER})\s+and\s+({_NUMBER})", re.IGNORECASE)
_AND = re.compile(r"\band\b", re.IGNORECASE)
_COMPARED = re.compile(rf"({_PATH})\s*(<=|>=|<>|!=|==|=|<|>)\s*({_NUMBER})")
_NOT_NULL = re.compile(rf"({_PATH})\s+is\s+not\s+null", re.IGNORECASE)


@dataclass(frozen=True)
class Values:
    """Values of one column in one file, as far as the log proves them.

    :param nulls: minimum number of NULL rows
    :param least: lowest value; None if unknown
    :param most: highest value; None if unknown
    """

    nulls: int = 0
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Limits:
    """The values that are allowed.

    :param low: lowest allowed value; None for any
    :param high: highest allowed value; None for any
    :param other_than: value that is not allowed; None if there is none
    """

    low: int | None = None
    high: int | None = None
    other_than: int | None = None

    def allow(self, value: int) -> bool:
        below = self.low is not None and value < self.low
        above = self.high is not None and value > self.high
        return not (below or above or value == self.other_than)


@dataclass
class Claim:
    """A condition that a step puts on a column.

    :param step: step with the condition
    :param name: path of the column when the step runs, after the steps before it
    :param column: column in the table
    :param nulls: number of NULL rows by file
    :param example: file with a value that is not allowed, and the value
    """

    step: Step
    name: Parts
    column: Column
    limits: Limits = Limits()
    allows_null: bool = False
    nulls: dict[str, int] = field(default_factory=dict)
    example: tuple[str, int] | None = None

    def take(self, path: str, values: Values) -> None:
        """Compare the values of a file with the condition."""
        if values.nulls and not self.allows_null:
            self.nulls[path] = values.nulls
        for value in (values.least, values.most):
            if self.example is None and value is not None and not self.limits.allow(value):
                self.example = path, value


def claims_of(planned: Sequence[Step], state: TableState) -> list[Claim]:
    """Return the conditions of a plan that statistics may disprove."""
    known = {lowered(column.parts): column for column in all_columns(state.metadata.schema)}
    found: list[Claim] = []
    for index, step in enumerate(planned):
        for name, path in forbidden_nulls(step, planned[:index]):
            column = None if path is None else known.get(lowered(path))
            if column is not None and set(column.kinds) == {"field"}:
                found.append(Claim(step, name, column))
        if isinstance(step, steps.AddConstraint):
            found += _of_constraint(step, planned[:index], known)
        elif isinstance(step, steps.RewriteTable):
            found += _of_casts(step, planned[:index], known)
    return found


def _of_constraint(step: steps.AddConstraint, before: Sequence[Step], known: Mapping[Parts, Column]) -> Iterator[Claim]:
    terms = list(_terms(step.expression))
    if None in terms:  # the rest of an expression proves nothing if one part is not understood
        return
    rewritten = {
        lowered(c.parts) for each in each_step(before) if isinstance(each, steps.RewriteTable) for c in each.casts
    }
    for path, limits in filter(None, terms):
        earlier = earlier_path(path, before)
        column = None if earlier is None else known.get(lowered(earlier))
        if column is None or set(column.kinds) != {"field"} or lowered(path) in rewritten:
            continue
        if limits == Limits() or str(column.data_type) in _BITS:
            yield Claim(step, path, column, limits)


def _terms(expression: str) -> Iterator[tuple[Parts, Limits] | None]:
    """Yield the comparisons that must all be true, and None for any other term."""
    for text in _AND.split(_BETWEEN.sub(r"\1 >= \2 and \1 <= \3", expression)):
        term = text.strip()
        while term.startswith("(") and term.endswith(")"):
            term = term[1:-1].strip()
        try:
            if compared := _COMPARED.fullmatch(term):
                yield parse_path(compared[1]), _limits(compared[2], int(compared[3]))
            elif not_null := _NOT_NULL.fullmatch(term):
                yield parse_path(not_null[1]), Limits()
            else:
                yield None
        except UnknownColumnError:
            yield None


def _limits(operator: str, number: int) -> Limits:
    match operator:
        case "<":
            return Limits(high=number - 1)
        case "<=":
            return Limits(high=number)
        case ">":
            return Limits(low=number + 1)
        case ">=":
            return Limits(low=number)
        case "=" | "==":
            return Limits(low=number, high=number)
        case _:
            return Limits(other_than=number)


def _of_casts(step: steps.RewriteTable, before: Sequence[Step], known: Mapping[Parts, Column]) -> Iterator[Claim]:
    for cast in step.casts:
        earlier = earlier_path(cast.parts, before)
        column = None if earlier is None else known.get(lowered(earlier))
        bits = _BITS.get(str(parse_sql_type(cast.new)))
        if cast.null_on_loss or column is None or bits is None or str(column.data_type) not in _BITS:
            continue
        if set(column.kinds) == {"field"}:
            low, high = -(1 << bits - 1), (1 << bits - 1) - 1
            yield Claim(step, cast.parts, column, Limits(low, high), allows_null=True)


def values_in(add: Mapping[str, Any], column: Column, state: TableState) -> Values:
    """Return the values of a column in a live file, as far as the log proves them.

    :param add: body of the file's ``add`` action
    """
    stats = _statistics(add)
    rows = stats.get("numRecords")
    vector = add.get("deletionVector") or None
    deleted = vector.get("cardinality") if vector is not None else 0
    if type(rows) is not int or type(deleted) is not int or rows <= deleted:
        return Values()
    path = physical_parts(column, state.metadata.schema, state.metadata.properties.mapping_mode)
    partitions = add.get("partitionValues") or {}
    if len(path) == 1 and path[0] in partitions:
        return _partition(partitions[path[0]], rows - deleted)
    if isinstance(column.data_type, (ArrayType, MapType, StructType)):
        return Values()  # engines count NULLs of these types differently
    counted = _at(stats.get(COUNTS), path)
    nulls = counted if type(counted) is int and 0 < counted <= rows else 0
    if vector is not None or stats.get("tightBounds", True) is not True:
        return Values(rows - deleted if nulls == rows else 0)
    least, most = (_integer(_at(stats.get(part), path)) for part in BOUNDS)
    return Values(nulls, least, most)


def _partition(text: Any, rows: int) -> Values:
    if text is None or text == "":
        return Values(rows)
    number = int(text) if isinstance(text, str) and re.fullmatch(_NUMBER, text, re.ASCII) else None
    return Values(0, number, number)


def _statistics(add: Mapping[str, Any]) -> Mapping[str, Any]:
    text = add.get("stats")
    try:
        stats = read_statistics(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return stats if isinstance(stats, Mapping) else {}


def _at(part: Any, path: Sequence[str]) -> Any:
    for name in path:
        part = part.get(name) if isinstance(part, Mapping) else None
    return part


def _integer(value: Any) -> int | None:
    return value if type(value) is int else None


def disproved(claims: Sequence[Claim], version: int) -> tuple[Finding, ...]:
    """Return a refusal for each claim that the files contradict."""
    return tuple(finding for claim in claims if (finding := _refusal(claim, version)) is not None)


def _refusal(claim: Claim, version: int) -> Finding | None:
    known: dict[str, Any] = {"column": path_text(claim.name), "version": version}
    if isinstance(claim.step, steps.AddConstraint):
        known |= {"constraint": claim.step.name, "expression": claim.step.expression}
        broken = "The CHECK constraint {constraint} ({expression}) is not true for every row of version {version}: "
        if claim.example is not None:
            path, value = claim.example
            evidence = broken + "{column} is {value} in {path}, by the statistics in the log."
            return requests.ROWS_BREAK_CONSTRAINT.found(evidence, path=path, value=value, **known)
        if claim.nulls:
            evidence = broken + "{column} is NULL in at least {nulls:row}, by the statistics in the log."
            return requests.ROWS_BREAK_CONSTRAINT.found(evidence, nulls=sum(claim.nulls.values()), **known)
    elif isinstance(claim.step, steps.RewriteTable):
        if claim.example is not None:
            path, value = claim.example
            evidence = "{column} is {value} in {path} of version {version}, by the statistics in the log: a value that "
            return requests.VALUES_LOST.found(evidence + "the new type does not have.", path=path, value=value, **known)
    elif claim.nulls:
        return requests.NULLS_FOUND.found(
            "{column} is NULL in at least {nulls:row} of version {version}, by the statistics in the log, for example "
            "in {path}.",
            nulls=sum(claim.nulls.values()),
            path=next(iter(claim.nulls)),
            **known,
        )
    return None
