"""The plan of a migration: the steps that bring a table to its spec, and their effects downstream.

``MigrationDraft`` is the table while its migration is planned.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.changes import steps
from airflow_delta_provider.domain.changes.drop_features import DropSurvey
from airflow_delta_provider.domain.changes.plan import Draft, Plan
from airflow_delta_provider.domain.changes.steps import (
    InOneCommit,
    Parts,
    Step,
    each_step,
    earlier_path,
)
from airflow_delta_provider.domain.changes.widen_types import widening_preparation
from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.migrations.planned import STREAM_BREAKS, STREAMS_OVERWRITTEN, STREAMS_RESTART
from airflow_delta_provider.domain.checks.rule import Prose
from airflow_delta_provider.domain.delta.data_type import lowered, parse_type, path_text
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.engine.spark_library import Engine
from airflow_delta_provider.domain.migrations.casting import declared_lines, diff
from airflow_delta_provider.domain.migrations.difference import column_changes, is_partitioned_otherwise
from airflow_delta_provider.domain.report.answers import PlanAnswer, PlanStep
from airflow_delta_provider.domain.report.report import Finding
from airflow_delta_provider.domain.spec.table_spec import TableSpec, View
from airflow_delta_provider.domain.table_name import TableName


@dataclass(frozen=True, kw_only=True)
class MigrationPlan(Plan):
    """Steps that bring a table to its declared state.

    :param spec: declared state
    :param before: state that the plan was made on
    :param lint: findings about questionable parts of the plan
    :param locked_out: findings about engines that can no longer read or write the table afterwards, or may not be able
        to
    :param unknown: engines that the fleet file keeps and whose support of the result is unknown
    :param approval: reasons why somebody must approve it; empty if the policy lets it be applied without approval
    """

    spec: TableSpec
    before: TableState
    lint: tuple[Finding, ...] = ()
    locked_out: tuple[Finding, ...] = ()
    unknown: tuple[str, ...] = ()
    approval: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Findings about questionable parts of the plan and engines that it locks out."""
        return (*self.lint, *self.locked_out)

    @property
    def base(self) -> str:
        """SHA-256 of the protocol and metadata that it was planned on."""
        return base_of(self.before)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the spec, the table's id, protocol and metadata, and the steps, but not the version."""
        return digest_of(self.spec.to_json(), self.before.metadata.id, self.base, list(map(step_digest, self.steps)))

    @property
    def permissions(self) -> tuple[str, ...]:
        """Names of options that must be set to apply the plan."""
        rewrites = any(step.rewrites_files for step in self.steps)
        needed = {
            "allow_protocol_upgrade": self.upgrades_protocol,
            "allow_rewrite": rewrites,
            "accept_unknown": bool(self.unknown),
        }
        return tuple(name for name, is_needed in needed.items() if is_needed)

    @property
    def metadata_after(self) -> Metadata:
        """The metadata after the plan, without values that the engine assigns."""
        wire = self.before.metadata.to_json()
        for step in self.steps:
            wire = step.edited(wire)
        return Metadata.from_json(wire)

    @property
    def diff(self) -> list[str]:
        """Changes of the declared state, as the lines of a unified diff; empty if there are none."""
        if not self.steps:
            return []
        before = declared_lines(self.before.metadata, self.protocol_before, self.before)
        after = declared_lines(self.metadata_after, self.protocol_after, self.before, self.steps)
        return diff(before, after)

    def to_json(self) -> dict[str, Any]:
        """Return the form used in reports, and in the file of an approved plan."""
        answer = PlanAnswer(
            digest=self.digest,
            commits=self.commits,
            steps=tuple(self._shown_steps()),
            notes=self.notes,
            changed=bool(self.steps),
            table=self.table.text,
            table_id=self.before.metadata.id,
            version=self.before.version,
            base=self.base,
            spec=self.spec.to_json(),
            permissions=self.permissions,
            diff=tuple(self.diff),
            lint=tuple(finding.to_json() for finding in self.lint),
            approval=self.approval,
            locked_out=tuple(finding.to_json() for finding in self.locked_out),
        )
        return replace(answer, checksum=checksum_of(answer.to_json())).to_json()

    def _shown_steps(self) -> Iterator[PlanStep]:
        done: list[Step] = []
        breaks = {
            text for step in self.steps for each in each_step([step]) for text in each.effects(self.before).breaks
        }
        # A stream that fails does not continue after a restart.
        weaker = {STREAMS_RESTART} if breaks & {STREAM_BREAKS.effect, STREAMS_OVERWRITTEN} else set()
        for number, step in enumerate(self.steps, start=1):
            digest = step_digest(step)
            for each in each_step([step]):
                effects = each.effects(self.before)
                views = broken_views(each, done, self.spec.views)
                done.append(each)
                yield PlanStep(
                    sql=each.sql(self.table),
                    explanation=each.explanation,
                    step=number,
                    digest=digest,
                    metadata_only=effects.metadata_only,
                    files=effects.files,
                    bytes=effects.size,
                    undo=effects.undo,
                    breaks=(*(text for text in effects.breaks if text not in weaker), *views),
                )


def base_of(state: TableState) -> str:
    """Return the SHA-256 of protocol and metadata, which appends do not change."""
    return _sha256({"protocol": state.protocol.to_json(), "metadata": state.metadata.to_json()})


def checksum_of(plan: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a plan's JSON, which also detects edits of its text."""
    return _sha256({key: value for key, value in plan.items() if key != "checksum"})


def step_digest(step: Step) -> str:
    """Return the SHA-256 of a step without its costs: equal for steps with the same effect."""
    return _sha256(_comparable(step))


def digest_of(spec: Any, table_id: str, base: str, steps: list[str]) -> str:
    """Return the digest of a plan from its parts, to detect edited files."""
    return _sha256({"spec": spec, "table_id": table_id, "base": base, "steps": steps})


#: Fields with the costs of a step, which may change while the plan waits for approval.
_COSTS = ("files", "size", "commits")


def _comparable(step: Step) -> dict[str, Any]:
    if isinstance(step, InOneCommit):
        return {"step": "InOneCommit", "steps": [_comparable(each) for each in step.steps]}
    values = {name: value for name, value in asdict(step).items() if name not in _COSTS}
    return {"step": type(step).__name__, **values}


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def broken_views(step: Step, earlier: Sequence[Step], views: Sequence[View]) -> Iterator[str]:
    """Yield sentences on views that a step breaks.

    :param step: single step
    :param earlier: steps before it
    :param views: views, with the names that columns had before all these steps
    """
    if not views:
        return
    for parts, change in step.for_readers.items():
        path = earlier_path(parts, earlier)
        for view in views if path is not None else ():
            if path is not None and _reads(view, path):
                yield f"The view {view.name} reads {path_text(path)}, which {change}."


def _reads(view: View, path: Parts) -> bool:
    """Return True if a view reads a column, a parent of it, or a field below it."""
    if view.columns is None:
        return True
    wanted = lowered(path)
    return any(wanted[: len(read)] == read[: len(wanted)] for read in map(lowered, view.columns))


class PlanFileError(ValueError):
    """An error for text that is not a plan."""


@dataclass(frozen=True)
class ApprovedPlan:
    """The parts of an approved plan that are compared with a table.

    :param spec: JSON of the spec
    :param version: version that it was made on
    :param steps: digests of the steps
    :param texts: explanation and SQL of each single step, as people read them
    :param diff: diff of the declared state, as people read it
    :param is_intact: True if its parts still have the digest and checksum that the plan names
    """

    digest: str
    table_id: str
    version: int
    base: str
    spec: Mapping[str, Any]
    steps: tuple[str, ...]
    texts: tuple[tuple[str, str], ...]
    diff: tuple[str, ...]
    is_intact: bool

    @classmethod
    def from_json(cls, wire: Any) -> ApprovedPlan:
        """Read the ``plan`` of a report.

        :raises PlanFileError: if it is not the plan of a migration
        """
        try:
            steps = tuple({step["step"]: step["digest"] for step in wire["steps"]}.values())
            texts = tuple(map(_texts_of, wire["steps"]))
            digest, table_id, base = (str(wire[key]) for key in ("digest", "table_id", "base"))
            version, spec = int(wire["version"]), dict(wire["spec"])
            diff = tuple(map(str, wire.get("diff") or ()))
        except (KeyError, TypeError, ValueError) as error:
            raise PlanFileError(f"This is not the plan of a migration: {error!r}.") from None
        intact = digest == digest_of(spec, table_id, base, list(steps)) and wire.get("checksum") == checksum_of(wire)
        return cls(digest, table_id, version, base, spec, steps, texts, diff, intact)


def check_approved(approved: ApprovedPlan, now: MigrationPlan, *, moved: str | None) -> Iterator[Finding]:
    """Yield reasons why an approved plan must not be applied to a table.

    Steps that were done already are no longer in the current plan. The remaining steps must be the last steps of the
    approved plan.

    :param now: plan of the same spec for the table as it is
    :param moved: difference of protocol or metadata from the state planned on, apart from the plan's own commits; None
        if there is none
    """
    table = now.table.text
    if not approved.is_intact:
        yield requests.OTHER_PLAN.found(
            "The plan for {table} was edited: its digest does not match its content.", table=table
        )
    elif approved.table_id != now.before.metadata.id:
        yield requests.ANOTHER_TABLE.found(
            "The plan is for a table with the id {wanted}, and {table} has the id {id}.",
            table=table,
            wanted=approved.table_id,
            id=now.before.metadata.id,
        )
    elif moved is not None:
        yield requests.OTHER_PLAN.found(
            "{table} has changed since the plan was made (version {planned}): {moved}.",
            table=table,
            planned=approved.version,
            moved=moved,
        )
    else:
        left = tuple(map(step_digest, now.steps))
        plan_now = now.to_json()
        texts = tuple(map(_texts_of, plan_now["steps"]))
        if left != approved.steps[len(approved.steps) - len(left) :]:
            yield requests.OTHER_PLAN.found(
                "{table} now needs other steps than the approved ones: {steps}.",
                table=table,
                steps=[step["explanation"] for step in plan_now["steps"]],
            )
        elif texts != approved.texts[len(approved.texts) - len(texts) :] or (
            len(texts) == len(approved.texts) and tuple(plan_now["diff"]) != approved.diff
        ):
            yield requests.OTHER_PLAN.found(
                "The text of the plan for {table} does not match its steps, so people may have approved other steps. "
                "Its steps are: {steps}.",
                table=table,
                steps=[explanation for explanation, _ in texts],
            )


def not_approved(now: MigrationPlan) -> Iterator[Finding]:
    """Yield reasons why a plan that nobody approved needs approval.

    They come from the plan's steps and the policy, never from a plan file.
    """
    if now.approval:
        yield requests.NOT_APPROVED.found(
            "Nobody approved the plan for {table}, and it needs approval: {why}",
            table=now.table.text,
            why=Prose(" ".join(now.approval)),
        )


#: The costs of a step in its explanation, which may change while the plan waits for approval.
_COSTS_IN_TEXT = re.compile(r"(?:1 data file|[\d,]+ data files) \([\d.]+ \w+\)| \([^()]*\bcommits?\b[^()]*\)$")


def _texts_of(step: Mapping[str, Any]) -> tuple[str, str]:
    """Return the explanation and SQL of a step, without its costs."""
    return _COSTS_IN_TEXT.sub("", str(step.get("explanation"))), str(step.get("sql"))


class MigrationDraft(Draft):
    """Follows the table through its steps, and collects the evidence that the plan rests on.

    :param survey: costs of dropping features
    """

    def __init__(
        self, table: TableName, spec: TableSpec, state: TableState, engine: Engine, survey: DropSurvey
    ) -> None:
        super().__init__(table, state, engine)
        self.spec = spec
        self.survey = survey
        self.columns = column_changes(state.metadata.schema, spec)
        self._cast_where_rows_are_rewritten()
        self.refusals += self.columns.refusals
        self._wants_files = False

    def _cast_where_rows_are_rewritten(self) -> None:
        """Turn widenings into casts if the rows are rewritten anyway.

        New files then have the wider types, and the table needs no type widening.
        """
        changes = self.columns
        if not changes.widenings:
            return
        has_to_rewrite = any(w.parts in changes.rewritable and not self._can_widen(w) for w in changes.widenings)
        renamed = Metadata.from_json(steps.RenameColumns(tuple(changes.renames)).edited(self.state.metadata.to_json()))
        if changes.casts or has_to_rewrite or is_partitioned_otherwise(renamed, self.spec):
            changes.casts += [steps.Cast(w.parts, w.old, w.new) for w in changes.widenings]
            changes.widenings.clear()

    def _can_widen(self, change: steps.ColumnType) -> bool:
        old, new = parse_type(change.old), parse_type(change.new)
        _, needed = widening_preparation([new], self.state, self.engine)
        return self.engine.widens(str(old), str(new)) and all(map(self.engine.knows, needed))

    @property
    def wants_files(self) -> bool:
        """True if planning in full needs the live files and they were not read yet."""
        return self._wants_files and self.before.files is None

    def take(self, *planned: Step) -> None:
        """Add steps, and continue with the table after them."""
        super().take(*planned)
        for step in planned:
            wire = step.edited(self.state.metadata.to_json())
            self.state = replace(self.state, metadata=Metadata.from_json(wire))

    def files(self) -> Sequence[LiveFile]:
        """Return the live files of the table; empty if they were not read yet.

        Records that the plan needs them.
        """
        self._wants_files = True
        return list(self.before.live_files)
