"""The plan of a migration: the steps that bring a table to its spec, and their effects downstream."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from airflow_delta_provider.domain.changes import step as steps
from airflow_delta_provider.domain.changes.explain import explain
from airflow_delta_provider.domain.changes.plan import Plan
from airflow_delta_provider.domain.changes.sql import render_sql
from airflow_delta_provider.domain.changes.step import InOneCommit, Parts, Step, each_step, rewrites_files
from airflow_delta_provider.domain.delta.column import lowered, path_text
from airflow_delta_provider.domain.delta.metadata import Metadata
from airflow_delta_provider.domain.delta.table_state import TableState
from airflow_delta_provider.domain.migrations.declared_text import declared_lines, diff
from airflow_delta_provider.domain.migrations.earlier_path import earlier_path
from airflow_delta_provider.domain.migrations.edit import edited
from airflow_delta_provider.domain.migrations.effects import effects_of
from airflow_delta_provider.domain.report.finding import Finding
from airflow_delta_provider.domain.spec.table_spec import TableSpec, View


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
        rewrites = any(map(rewrites_files, self.steps))
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
            wire = edited(step, wire)
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
        wire = {
            **super().to_json(),
            "steps": list(self._steps_to_json()),
            "changed": bool(self.steps),
            "table": self.table.text,
            "table_id": self.before.metadata.id,
            "version": self.before.version,
            "base": self.base,
            "spec": self.spec.to_json(),
            "permissions": list(self.permissions),
            "diff": self.diff,
            "lint": [finding.to_json() for finding in self.lint],
            "approval": list(self.approval),
            "locked_out": [finding.to_json() for finding in self.locked_out],
        }
        return {**wire, "checksum": checksum_of(wire)}

    def _steps_to_json(self) -> Iterator[dict[str, Any]]:
        done: list[Step] = []
        for number, step in enumerate(self.steps, start=1):
            digest = step_digest(step)
            for each in each_step([step]):
                effects = effects_of(each, self.before)
                views = broken_views(each, done, self.spec.views)
                done.append(each)
                yield {
                    "sql": render_sql(each, self.table),
                    "explanation": explain(each),
                    "step": number,
                    "digest": digest,
                    **replace(effects, breaks=(*effects.breaks, *views)).to_json(),
                }


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
    for parts, change in _changes(step).items():
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


_DROPPED = "is dropped: it fails"
_RENAMED = "is renamed to {}: it fails until it is created again"
_RETYPED = "becomes {}: it fails or overflows until it is created again"


def _changes(step: Step) -> Mapping[Parts, str]:
    """Return the columns that a step changes for their readers, each with the end of a sentence."""
    match step:
        case steps.DropColumns():
            return dict.fromkeys(step.columns, _DROPPED)
        case steps.RenameColumns():
            return {column.parts: _RENAMED.format(column.new) for column in step.columns}
        case steps.WidenColumns():
            return {column.parts: _RETYPED.format(column.new) for column in step.columns}
        case steps.RewriteTable():
            return {cast.parts: _RETYPED.format(cast.new) for cast in step.casts}
        case _:
            return {}
