"""Checks: functions that yield findings, registered by the kind of their input.

A check is defined below the rules that it may find broken, in their family's package::

    @on_state(MAX_COLUMN_ID_MISSING, MAX_COLUMN_ID_TOO_LOW)
    def _max_column_id(state: TableState) -> Iterator[Finding]: ...

An audit runs all registered checks; there is no list of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.delta.commit import Commit
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding

Input = TypeVar("Input")


Function = TypeVar("Function", bound=Callable[..., Any])


Check = Callable[[Input], Iterator[Finding]]


class Declared(NamedTuple):
    """A registered check.

    :param rules: rules that it may find broken
    :param reads: fields that it reads, as in :data:`Fields`; None if it declares none
    """

    check: Callable[..., Any]
    rules: tuple[Rule, ...]
    reads: frozenset[str] | None


#: The fields that a check reads, so that it can be skipped on commits whose fields are known to be right. A field of an
#: action is named as in the log, like ``add.path`` or ``commitInfo.operation``; ``cdc`` stands for all fields of the
#: kind. ``protocol``, ``metaData`` and ``domainMetadata`` are those of the commit and of the table. The rest is not in
#: the actions: ``version``, ``order`` (of the actions), ``previous`` (the commit before), ``files`` (the live files
#: before the commit) and ``past`` (versions further back).
Fields = Collection[str]


class Registry:
    """Checks with the fields that they read."""

    def __init__(self) -> None:
        self.declared: list[Declared] = []

    @property
    def rules(self) -> set[Rule]:
        """All rules that the checks may find broken."""
        return {rule for declared in self.declared for rule in declared.rules}

    def register(self, check: Function, rules: tuple[Rule, ...], reads: Fields | None) -> Function:
        """Add a check and return it."""
        if isinstance(reads, str):
            raise TypeError(f"The fields of a check are a tuple, as in reads=({reads!r},).")
        self.declared.append(Declared(check, rules, None if reads is None else frozenset(reads)))
        return check


class Checks(Registry, Generic[Input]):
    """The checks of one kind of input.

    :param where: returns the version and commit for findings that have none
    """

    def __init__(self, where: Callable[[Input], Mapping[str, Any]]) -> None:
        super().__init__()
        self._where = where

    def __call__(self, *rules: Rule, reads: Fields | None = None) -> Callable[[Check[Input]], Check[Input]]:
        """Return a decorator that registers a check.

        :param rules: rules that the check may find broken
        :param reads: fields that it reads; a check that declares none is never skipped
        """
        return partial(self.register, rules=rules, reads=reads)

    def __iter__(self) -> Iterator[Check[Input]]:
        return (partial(self._run, [declared]) for declared in self.declared)

    def run(self, value: Input) -> Iterator[Finding]:
        """Yield the findings of all checks."""
        return self._run(self.declared, value)

    def _run(self, checks: Sequence[Declared], value: Input) -> Iterator[Finding]:
        for declared in checks:
            for finding in declared.check(value):
                yield finding if finding.version is not None else replace(finding, **self._where(value))


class OnDemand(Registry):
    """Checks that an audit calls itself, with data that it has read or tracked so far."""

    def __call__(self, *rules: Rule, reads: Fields | None = None) -> Callable[[Function], Function]:
        """Return a decorator that registers a check, or a class of checks.

        :param rules: rules that the check may find broken
        :param reads: fields that it reads; a check that declares none is never skipped
        """
        return partial(self.register, rules=rules, reads=reads)


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


#: One action as in the log.
on_action: Checks[Mapping[str, Any]] = Checks(lambda _: {})


#: An action about a file, with the table before and after its commit. The audit calls the check for each of them.
on_file = OnDemand()


#: A commit together with data that the audit tracks. The audit calls the check for each commit.
on_tracked = OnDemand()


#: Data that an audit has read or tracked so far, beyond single commits.
on_demand = OnDemand()
