"""The violations of a table during an audit: open ones, fixed ones, and their causes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache

from airflow_delta_provider.domain.audit.saved_state import OpenViolation
from airflow_delta_provider.domain.audit.violation import (
    Before,
    Key,
    Violated,
    Violation,
    cause_of,
    fingerprint,
    group_of,
    key_of,
    rank,
    worded,
)
from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import Rule, StillOpen
from airflow_delta_provider.domain.delta.metadata import MappedField, MappedSchema, Metadata
from airflow_delta_provider.domain.delta.table_state import TableState, Transition
from airflow_delta_provider.domain.report.report import Finding, Severity


def called(key: Key, before: Metadata, after: Metadata) -> Key:
    """Return the key of a violation with the later name of its column.

    :param before: metadata at the time of the violation
    """
    code, path, column, subject = key
    if column is None or before.schema_string == after.schema_string:
        return key
    renamed = _renamed(before.schema_string, after.schema_string)
    above = next((name for name in _upwards(column) if name in renamed), None)
    return key if above is None else (code, path, renamed[above] + column[len(above) :], subject)


def _upwards(column: str) -> Iterator[str]:
    """Yield a column and the columns that may contain it; their names may contain dots."""
    yield column
    while "." in column:
        column = column.rpartition(".")[0]
        yield column


@lru_cache(maxsize=16)
def _renamed(before: str, after: str) -> Mapping[str, str]:
    """Return the new names of the columns that another schema has under another name, by old name."""
    old, new = (Metadata("", text).readable_mapped_schema for text in (before, after))
    if old is None or new is None:
        return {}
    pairs = ((field, _same(field, old, new)) for field in old.fields)
    return {
        str(was.column): str(now.column) for was, now in pairs if now is not None and str(now.column) != str(was.column)
    }


def _same(field: MappedField, old: MappedSchema, new: MappedSchema) -> MappedField | None:
    """Return the field of another schema with the same id or, if ids do not tell, with the same path in files."""
    if field.id in old.by_id and field.id in new.by_id:
        return new.by_id[field.id]
    return new.by_path.get(field.path) if field.path in old.by_path else None


#: Maximum number of files per rule whose violations are tracked one by one, if they can be fixed without removal.
_MOST_FILES = 1000
#: Maximum number of violations saved in addition to those that are reported.
_MOST_ALIKE = 1000


class Violations:
    """Collects the findings of the rules, commit after commit."""

    def __init__(self) -> None:
        self._standing: dict[Violated, Violation] = {}
        self._healed: list[Violation] = []
        self._aspects: dict[str, set[Violated]] = defaultdict(set)
        self._paths: dict[str, list[Violation]] = defaultdict(list)
        self._codes: Counter[str] = Counter()
        self._changes = self._waiting = 0
        self._files: dict[str, int] = defaultdict(int)
        self._uncounted: Counter[str] = Counter()
        self._groups: dict[tuple[object, ...], Violation] = {}
        self._forgotten: frozenset[Violated] = frozenset()
        self._settled: frozenset[Violation] = frozenset()
        self._ids: list[tuple[int, str]] = []
        self._times: dict[int, str] = {}
        self.taken = 0
        """Number of findings so far."""

    def identify(self, version: int, table_id: str) -> None:
        """Record the table id from a version on.

        A violation is identified by the id that the table had at its version.
        """
        self._ids.append((version, table_id))

    @property
    def healed(self) -> int:
        """Number of violations that are fixed."""
        return len(self._healed)

    def date(self, version: int, time: str | None) -> None:
        """Record the time of a version that fixed violations, if its commit has one."""
        if time is not None:
            self._times[version] = time

    def update(
        self,
        aspect: str,
        version: int,
        findings: Iterable[Finding],
        before: TableState | None = None,
        after: Metadata | None = None,
    ) -> list[Violation]:
        """Record all findings about an aspect of the state of ``version``.

        Violations of that aspect that are no longer found are closed and returned.

        :param before: the state before that one
        :param after: the metadata of the state; None if columns have the names that they had before
        """
        found: dict[Violated, Finding] = {(key_of(finding), None): finding for finding in findings}
        if before is not None and after is not None:
            self._rename(aspect, found, before.metadata, after)
        healed = [self._heal(key, version) for key in self._aspects[aspect] - found.keys()]
        self._aspects[aspect] = set(found)
        for key, finding in found.items():
            self._open(key, finding, None, None if before is None else lambda: before)
        return [violation for violation in healed if violation is not None]

    def _rename(self, aspect: str, found: Container[Violated], before: Metadata, after: Metadata) -> None:
        """Move violations of renamed columns that are still found to their new names."""
        for key in [key for key in self._aspects[aspect] if key not in found]:
            renamed: Violated = (called(key[0], before, after), None)
            if renamed in found and renamed not in self._standing and (violation := self._standing.pop(key, None)):
                violation.key = renamed
                self._standing[renamed] = violation
                self._aspects[aspect].remove(key)

    def open(
        self,
        finding: Finding,
        still_open: StillOpen | None = None,
        before: TableState | None = None,
        *,
        of_state: bool = False,
    ) -> None:
        """Record a violation of a commit. If a file already has the same violation, the first one counts.

        :param of_state: True if it is a violation of the last state, whichever commit led to it
        """
        known = None if before is None else lambda: before
        self._open((key_of(finding), finding.version), finding, still_open, known, of_state=of_state)

    def _open(
        self,
        key: Violated,
        finding: Finding,
        still_open: StillOpen | None,
        before: Before | None,
        *,
        of_state: bool = False,
    ) -> None:
        self.taken += 1
        if key in self._standing:
            return
        violation = Violation(finding, key, still_open, before, of_state=of_state)
        if finding.path is not None:
            if self._is_known(finding, finding.path):
                return
            if still_open is None or self._files[finding.code] >= _MOST_FILES:
                group = (finding.code, finding.severity, finding.column, finding.subject, finding.version)
                known = self._groups.get(group)
                violation = violation if known is None or known.healed is not None else known
                violation.still_open = None
                self._groups[group] = violation
            else:
                self._files[finding.code] += 1
            violation.paths.add(finding.path)
            violation.files = max(violation.files, len(violation.paths))
            self._paths[finding.path].append(violation)
            if violation.finding is not finding:
                return
        self._standing[key] = violation
        self._codes[finding.code] += 1
        self._changes += before is not None
        self._waiting += violation.still_open is not None

    def count(self, rule: Rule, more: int) -> None:
        """Add to the number of equal violations that have no finding of their own."""
        self._uncounted[rule.code] += more

    def forget(self) -> None:
        """Do not report the violations that are open now: they were there before the audited history."""
        self._forgotten = frozenset(self._standing)

    def recall(
        self,
        recalled: OpenViolation,
        aspect: str | None,
        still_open: StillOpen | None = None,
        before: Before | None = None,
    ) -> None:
        """Record a violation that an earlier audit saved.

        :param aspect: aspect of the state that :meth:`update` will check, if the violation is about one
        """
        finding = recalled.finding
        key: Violated = (key_of(finding), finding.version if aspect is None else None)
        self._open(key, finding, still_open, before)
        if aspect is not None:
            self._aspects[aspect].add(key)
        violation = self._standing.get(key)
        if violation is not None and violation.finding is finding:
            for path in recalled.paths - violation.paths:
                violation.paths.add(path)
                self._paths[path].append(violation)
            violation.files = max(violation.files, len(violation.paths))

    def settle(self, known: Iterable[Finding]) -> None:
        """Drop violations that an earlier audit of the same version did not have open.

        Findings about files of the log stay: those may be newer than that audit.

        :param known: findings of the earlier audit
        """
        about = {group_of(finding) for finding in known}
        for key, violation in list(self._standing.items()):
            of_the_log = (violation.finding.path or "").startswith("_delta_log/")
            if not of_the_log and group_of(violation.finding) not in about:
                self._drop(key)
        self._settled = frozenset(self._healed)

    def withdraw(self, rule: Rule, paths: Collection[str | None] | None = None) -> None:
        """Withdraw the open violations of a rule: they were reported when less was known.

        :param paths: paths of the files whose violations are withdrawn; None for all
        """
        for key in [key for key in self._standing if key[0][0] == rule.code and (paths is None or key[0][1] in paths)]:
            violation = self._drop(key)
            self._groups = {group: other for group, other in self._groups.items() if other is not violation}

    def is_open(self, rule: Rule) -> bool:
        """Return True if a rule is broken now."""
        return self._codes[rule.code] > 0

    def any_open(self, codes: Iterable[str]) -> bool:
        """Return True if one of the rules with those codes is broken now."""
        return bool(self._standing) and any(self._codes[code] > 0 for code in codes)

    @property
    def has_changes(self) -> bool:
        """Return True if any violation by a change of protocol or metadata is open."""
        return self._changes > 0

    @property
    def is_waiting(self) -> bool:
        """Return True if a commit that changes neither protocol, metadata nor wrong files may fix an open violation."""
        return self._waiting > 0 or self._changes > 0

    def close_fixed(self, transition: Transition) -> list[Violation]:
        """Close the violations that a commit fixes. Return them."""
        healed = []
        for key, violation in list(self._standing.items()):
            if violation.still_open is not None and not violation.still_open(transition):
                self._heal(key, transition.commit.version)
                healed.append(violation)
        return healed

    def corrected(self, path: str, version: int, codes: Container[str]) -> None:
        """Close violations of the ``add`` action of a file that is added again with right values.

        :param codes: codes of the rules that the new action does not break
        """
        for violation in self._paths.pop(path, ()):
            finding = violation.finding
            if finding.code not in codes or finding.version == version or finding.subject in ("remove", "cdc"):
                self._paths[path].append(violation)
                continue
            violation.paths.discard(path)
            if not violation.paths:
                self._heal(violation.key, version)

    def close_files(self, paths: Iterable[str], version: int, codes: Container[str] | None = None) -> None:
        """Close violations of files that are no longer live.

        :param codes: codes of the rules that the files no longer break; None for all
        """
        for path in paths:
            for violation in self._paths.pop(path, ()):
                if codes is not None and violation.finding.code not in codes:
                    self._paths[path].append(violation)
                    continue
                violation.paths.discard(path)
                if not violation.paths:
                    self._heal(violation.key, version)

    def paths_of(self, codes: Container[str]) -> frozenset[str]:
        """Return the files that break one of the rules with those codes."""
        return frozenset(
            path for path, found in self._paths.items() if any(other.finding.code in codes for other in found)
        )

    def close_not_live(self, live: Container[str], version: int) -> None:
        """Close violations of files that were live and no longer are.

        :param live: paths of the live files
        """
        paths = {path for path, found in self._paths.items() if any(rule_of(v.finding).about_live_files for v in found)}
        self.close_files([path for path in paths if path and path not in live], version)

    def is_wrong(self, path: str) -> bool:
        """Return True if a violation of a file is open."""
        return bool(self._paths.get(path))

    @property
    def has_files(self) -> bool:
        """Return True if violations of single files are open."""
        return bool(self._paths)

    def standing(self) -> tuple[OpenViolation, ...]:
        """Return the open violations one by one, the worst first.

        Those that are reported as one may be incomplete: at most ``_MOST_ALIKE`` of them are kept.
        """
        groups = _alike(self._remembered(sorted(self._standing.values(), key=rank)))
        first, more = [group[0] for group in groups], [other for group in groups for other in group[1:]]
        return tuple(map(self._remembered_as, (*first, *more[:_MOST_ALIKE])))

    def _remembered_as(self, violation: Violation) -> OpenViolation:
        finding = replace(violation.finding, fingerprint=self._fingerprint(violation.finding))
        before = None if violation.before is None else violation.before()
        details = None if violation.still_open is None else violation.still_open.details
        state = None if before is None else replace(before, files=None)
        return OpenViolation.of(finding, violation.paths, details, state, of_state=violation.of_state)

    def findings(self) -> list[Finding]:
        """Return the open findings, the worst first, then the fixed ones; each with its fingerprint and cause."""
        standing = sorted(self._standing.values(), key=rank)
        healed = sorted(self._healed, key=rank)
        for violation in standing + healed:
            violation.cause = None
        for violation in standing + healed:
            violation.cause = cause_of(violation, standing + healed)
        groups = [*_alike(self._remembered(standing)), *_alike(self._remembered(healed))]
        reported_as = {id(violation): group[0].finding for group in groups for violation in group}
        return list(self._reported(groups, reported_as))

    def _remembered(self, violations: Iterable[Violation]) -> list[Violation]:
        return [v for v in violations if v not in self._settled and not self._is_forgotten(v)]

    def _reported(self, groups: Iterable[list[Violation]], reported_as: Mapping[int, Finding]) -> Iterator[Finding]:
        for first, *others in groups:
            finding, root = first.finding, first.root
            more = sum(violation.number for violation in (first, *others)) - 1
            more += 0 if first.healed is not None else self._uncounted[finding.code]
            last = max((other.finding.version or 0 for other in others), default=finding.version)
            alike = (more, None if last == finding.version else last) if more else (None, None)
            healed = [violation.healed for violation in (first, *others) if violation.healed is not None]
            if root.healed is not None and not healed and finding.evidence is not None:
                cause = f" It follows from {root.finding.code}, which version {root.healed} fixed."
                finding = replace(finding, evidence=finding.evidence.removesuffix(cause) + cause)
            until = max(healed, default=None)
            reported = replace(
                finding,
                alike=alike[0],
                alike_until=alike[1],
                healed_version=until,
                healed_at=None if until is None else self._times.get(until),
                fingerprint=self._fingerprint(finding),
                caused_by=None if root is first else self._fingerprint(reported_as.get(id(root), root.finding)),
            )
            yield worded(reported)

    def _fingerprint(self, finding: Finding) -> str:
        """Return the fingerprint from an earlier audit, or a new one with the table id of the finding's version."""
        first, version = self._ids[:1], finding.version
        later = [known for known in self._ids[1:] if version is None or known[0] <= version]
        table_id = next((known for _, known in reversed(first + later)), "")
        return finding.fingerprint or fingerprint(finding, table_id)

    def _is_forgotten(self, violation: Violation) -> bool:
        return bool(violation.finding.at_or_before) and violation.key in self._forgotten

    def _heal(self, key: Violated, version: int) -> Violation | None:
        violation = self._drop(key)
        if violation is not None:
            violation.healed = version
            self._healed.append(violation)
        return violation

    def _drop(self, key: Violated) -> Violation | None:
        violation = self._standing.pop(key, None)
        if violation is not None:
            self._codes[violation.finding.code] -= 1
            self._changes -= violation.before is not None
            self._waiting -= violation.still_open is not None
            for path in violation.paths:
                self._paths[path] = [other for other in self._paths[path] if other is not violation]
        return violation

    def _is_known(self, finding: Finding, path: str) -> bool:
        about = (finding.code, finding.column, finding.subject)
        known = (violation.finding for violation in self._paths.get(path, ()))
        return any((other.code, other.column, other.subject) == about for other in known)


def _alike(violations: Iterable[Violation]) -> list[list[Violation]]:
    """Return groups of violations that are each reported as one; fixed warnings of a kind are one group."""
    groups: dict[tuple[object, ...], list[Violation]] = defaultdict(list)
    for violation in violations:
        finding, healed = violation.finding, violation.healed
        until = healed if finding.severity is Severity.ERROR else healed is not None
        groups[(*group_of(finding), until)].append(violation)
    return list(groups.values())
