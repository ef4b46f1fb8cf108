"""Plans of repairs: inert steps, the findings that they fix, and the findings that stay open."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import Scope
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.repair.corrections import Correction
from airflow_delta_provider.domain.repair.logged_table import LoggedTable, copy_name
from airflow_delta_provider.domain.report.answers import ABSENT, PlanAnswer, PlanStep, UnfixedFinding
from airflow_delta_provider.domain.report.report import Finding, Severity

#: Folder of the files that a repair moves aside, below the table's. Engines overlook it, because of the underscore.
SET_ASIDE = "_delta_repair"
_MOST_CHANGES = 50
_NO_ROWS = (
    "Values of rows are neither checked nor repaired: audit and check-row-tracking find their damage with --level data."
)


@dataclass(frozen=True)
class MoveAside:
    """A step that moves files of the log which the commits make dispensable.

    :param files: names of the files, relative to ``_delta_log``
    :param fixes: findings that it fixes
    """

    files: tuple[str, ...]
    fixes: tuple[Finding, ...] = ()

    @property
    def explanation(self) -> str:
        return (
            f"Move {', '.join(self.files)} from _delta_log to {SET_ASIDE}, after a copy was compared: the commits that "
            "they summarize are kept."
        )


@dataclass(frozen=True)
class Correct:
    """A correction, as a part of the one commit of a repair.

    :param fixes: findings that it fixes
    """

    correction: Correction
    fixes: tuple[Finding, ...] = ()

    @property
    def explanation(self) -> str:
        """The correction in a sentence or two."""
        made = self.correction
        parts = [change.text for change in made.changes[:_MOST_CHANGES]]
        if len(made.changes) > _MOST_CHANGES:
            parts.append(f"{len(made.changes) - _MOST_CHANGES} more values")
        sentences = [f"{made.method.value[:1].upper()}{made.method.value[1:]}: {'; '.join(parts)}." if parts else ""]
        if made.back_to is not None:
            sentences.append(f"Go back to version {made.back_to[0]}, as RESTORE does.")
        sentences += [f"Copy {path} to {copy_name(path)}, and commit the copy instead." for path, _ in made.copied]
        sentences += [f"Remove the reference to {path}." for path, _ in made.removed]
        sentences += [f"Commit {path} again as it is." for path, _ in made.again]
        return " ".join(filter(None, sentences))


Step = MoveAside | Correct
_NEW_CHECKPOINT = PlanStep(sql=None, explanation="Write a checkpoint of the repaired version.")


@dataclass(frozen=True)
class RepairPlan:
    """The repair of one table.

    :param table: name of the table
    :param state: version that it was planned on
    :param before: table at that version, as logged
    :param after: the repaired version as logged
    :param left: findings that stay open, each with the reason
    :param permitted: fingerprints of the findings whose repair may lose information
    :param level: level of the audit that proves the plan
    :param needed: fingerprints of further findings whose permission the whole repair needs
    :param unknown: permitted fingerprints that no open finding has
    :param moved_before: names of files of the log that an earlier try of this plan moved aside
    """

    table: str
    state: TableState
    before: LoggedTable
    after: LoggedTable
    steps: tuple[Step, ...]
    left: tuple[tuple[Finding, str], ...]
    permitted: tuple[str, ...] = ()
    level: str = "log"
    moved_before: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    @property
    def moved(self) -> tuple[str, ...]:
        """Names of the files of the log that are moved aside."""
        return tuple(name for step in self.steps if isinstance(step, MoveAside) for name in step.files)

    @property
    def corrections(self) -> tuple[Correction, ...]:
        return tuple(step.correction for step in self.steps if isinstance(step, Correct))

    @property
    def needs_checkpoint(self) -> bool:
        """Return True if a checkpoint is moved aside, so that the engine writes a new one."""
        return any(".checkpoint." in name for name in (*self.moved, *self.moved_before))

    @property
    def has_commit(self) -> bool:
        """Return True if the repair makes a commit."""
        return bool(self.corrections)

    @property
    def copied(self) -> tuple[tuple[str, str], ...]:
        """Paths of the data files that are copied, each with the path of its copy."""
        return tuple((path, copy_name(path)) for correction in self.corrections for path, _ in correction.copied)

    @property
    def loses(self) -> tuple[str, ...]:
        """Information that the repair loses: sentences."""
        return tuple(lost for correction in self.corrections for lost in correction.loses)

    @property
    def changes_protocol(self) -> bool:
        """Return True if the commit changes the protocol."""
        return self.before.protocol != self.after.protocol

    @property
    def digest(self) -> str:
        """SHA-256 of the table and the steps. Values that are assigned when the commit is written do not count."""
        parts = {
            "table": self.table,
            "id": self.state.metadata.id,
            "moved": sorted({*self.moved, *self.moved_before}),
            "corrections": [_canonical(correction) for correction in self.corrections],
            "permitted": sorted(self.permitted),
        }
        text = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports and in the file of an approved plan."""
        return PlanAnswer(
            digest=self.digest,
            commits=int(self.has_commit),
            steps=(*map(_step, self.steps), *([_NEW_CHECKPOINT] if self.needs_checkpoint else [])),
            notes=tuple(self._notes()),
            changed=bool(self.steps),
            table=self.table,
            table_id=self.state.metadata.id,
            version=self.state.version,
            permissions=("allow_protocol_upgrade",) if self.changes_protocol else (),
            permitted=self.permitted,
            needed=self.needed,
            level=self.level,
            left_open=tuple(
                UnfixedFinding(
                    code=finding.code,
                    version=finding.version,
                    fingerprint=finding.fingerprint or "",
                    path=finding.path or ABSENT,
                    column=finding.column or ABSENT,
                    why=why,
                )
                for finding, why in self.left
            ),
        ).to_json()

    def _notes(self) -> Iterator[str]:
        if not self.steps:
            if not self.needed:
                yield "Nothing of this can be repaired." if self.left else "There is nothing to repair."
            yield from self._permissions()
            yield _NO_ROWS
            return
        fixed = sum(len(step.fixes) for step in self.steps)
        yield f"The audit of the log as the steps leave it no longer has {fixed} of the findings."
        if self.has_commit:
            yield "All corrections are one commit of this provider. RESTORE to the version before undoes it."
        seen = any(correction.sees for correction in self.corrections)
        if not seen and not self.loses:
            yield "Readers see the same rows as before."
        yield _NO_ROWS
        yield from self._permissions()

    def _permissions(self) -> Iterator[str]:
        if self.unknown:
            unknown = ", ".join(self.unknown)
            yield f"No open finding of this table has the fingerprint {unknown}, so the permission has no effect."
        if self.needed:
            known = (each for each in self.permitted if each not in self.unknown)
            given = " ".join(f"--permit {each}" for each in (*known, *self.needed))
            yield f"Plan again with these permissions to repair all that can be repaired: {given}"


def _canonical(made: Correction) -> list[Any]:
    changes = [
        [list(change.place), None if change.is_fresh else [change.before, change.after]] for change in made.changes
    ]
    back_to = None if made.back_to is None else made.back_to[0]
    return ["correct", made.method.value, changes, list(made.removed), list(made.copied), list(made.again), back_to]


def _step(step: Step) -> PlanStep:
    fixes = tuple(named(finding) for finding in step.fixes)
    if isinstance(step, Correct):
        made = step.correction
        return PlanStep(
            sql=None,
            explanation=step.explanation,
            step=1,
            heals=fixes,
            loses=made.loses or ABSENT,
            sees=made.sees or ABSENT,
        )
    return PlanStep(sql=None, explanation=step.explanation, heals=fixes or ABSENT)


def named(finding: Finding) -> str:
    """Return a finding in a phrase: code, title, version and place."""
    place = finding.path or finding.column or finding.subject
    version = "" if finding.version is None else f" (version {finding.version})"
    return f"{finding.code} {rule_of(finding).title}{version}{f': {place}' if place else ''}"


def unexpected(plan: Mapping[str, Any], findings: Iterable[Finding]) -> list[Finding]:
    """Return the open findings of an audit after a repair that the plan does not leave open."""
    left = {(each["code"], each.get("version"), each.get("path")) for each in plan.get("left_open", ())}
    codes = {each["code"] for each in plan.get("left_open", ())}
    return [
        finding
        for finding in findings
        if finding.is_open
        and (finding.code, finding.version, finding.path) not in left
        and not (finding.alike and finding.code in codes)
    ]


def why_left(finding: Finding, needs_permission: Sequence[str] = (), hindrance: str = "") -> str:
    """Return the reason why a finding stays open, and the remedy.

    :param needs_permission: information that a correction would lose; empty if there is no correction
    :param hindrance: reason why the table cannot go back to the version before
    """
    rule = rule_of(finding)
    if needs_permission:
        lost = " ".join(dict.fromkeys(needs_permission))
        return f"The correction loses information, and needs --permit {finding.fingerprint}: {lost}"
    if finding.severity is Severity.UNDECIDED:
        reason = "This is no damage that a repair could fix: something could not be checked."
    elif rule.all_repairs:
        reason = f"No correction was found that fixes it and breaks no rule. {hindrance}".rstrip()
    else:
        reason = _NOT_CORRECTED.get(rule.scope, "No commit can correct this.")
    return f"{reason} {finding.remedy or rule.remedy}"


#: Reasons why no correction of a rule exists, by the object that it checks.
_NOT_CORRECTED = {
    Scope.COMMIT: "A commit that is written cannot be changed.",
    Scope.PAIR: "A commit that is written cannot be changed, and a repair rewrites no rows.",
    Scope.HISTORY: "A repair cannot write commits that are lost.",
    Scope.DATA: "A repair changes no values of rows: only the owner of the data knows the right ones.",
}
