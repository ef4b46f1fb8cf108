"""Checks: functions that yield findings, registered by the kind of their input.

A check is defined below the rules that it may find broken, in their family's package::

    @on_state(MAX_COLUMN_ID_MISSING, MAX_COLUMN_ID_TOO_LOW)
    def _max_column_id(state: TableState) -> Iterator[Finding]: ...

An audit runs all registered checks; there is no list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, TypeVar

from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding

Input = TypeVar("Input")


Function = TypeVar("Function", bound=Callable[..., Any])


Check = Callable[[Input], Iterator[Finding]]


class Checks(Generic[Input]):
    """The checks of one kind of input.

    :param where: returns the version and commit for findings that have none
    """

    def __init__(self, where: Callable[[Input], Mapping[str, Any]]) -> None:
        self._where = where
        self._checks: list[Check[Input]] = []
        self.rules: set[Rule] = set()
        """All rules that they may find broken."""

    def __call__(self, *rules: Rule) -> Callable[[Check[Input]], Check[Input]]:
        """Return a decorator that registers a check.

        :param rules: rules that the check may find broken
        """

        def register(check: Check[Input]) -> Check[Input]:
            self._checks.append(check)
            self.rules.update(rules)
            return check

        return register

    def __iter__(self) -> Iterator[Check[Input]]:
        return (partial(self._run, [check]) for check in self._checks)

    def run(self, value: Input) -> Iterator[Finding]:
        """Yield the findings of all checks."""
        return self._run(self._checks, value)

    def _run(self, checks: Sequence[Check[Input]], value: Input) -> Iterator[Finding]:
        for check in checks:
            for finding in check(value):
                yield finding if finding.version is not None else replace(finding, **self._where(value))


class OnDemand:
    """Checks that an audit calls itself, with data that it has read or tracked so far."""

    def __init__(self) -> None:
        self.rules: set[Rule] = set()
        """All rules that they may find broken."""

    def __call__(self, *rules: Rule) -> Callable[[Function], Function]:
        """Return a decorator that records the rules that a check, or a class of checks, may find broken."""

        def note(check: Function) -> Function:
            self.rules.update(rules)
            return check

        return note


#: Protocol, metadata and domains of a version, whichever commits led to it.
on_state: Checks[TableState] = Checks(lambda state: {"version": state.version})


#: A commit that changes protocol or metadata. Run again on later commits, to see whether they fix the findings.
on_change: Checks[Transition] = Checks(lambda transition: transition.commit.provenance)


#: The commit that creates a table: version 0.
on_first_commit: Checks[Commit] = Checks(lambda commit: commit.provenance)


#: The actions of one commit, by themselves.
on_commit: Checks[Commit] = Checks(lambda commit: commit.provenance)


#: A commit together with the table that it found.
on_transition: Checks[Transition] = Checks(lambda transition: transition.commit.provenance)


#: One action as in the log; not run on lines that match a pattern in domain/audit/fast_path.
on_action: Checks[Mapping[str, Any]] = Checks(lambda _: {})


#: Data that an audit has read or tracked so far.
on_demand = OnDemand()
