"""An approved plan: reading it from its JSON, and checking it against its table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.checks import requests
from airflow_delta_provider.domain.checks.evidence import Prose
from airflow_delta_provider.domain.migrations.plan import MigrationPlan, checksum_of, digest_of, step_digest
from airflow_delta_provider.domain.report.finding import Finding


class PlanFileError(ValueError):
    """An error for text that is not a plan."""


@dataclass(frozen=True)
class ApprovedPlan:
    """The parts of an approved plan that are compared with a table.

    :param spec: JSON of the spec
    :param version: version that it was made on
    :param steps: digests of the steps
    :param said: explanation and SQL of each single step, as people read them
    :param diff: diff of the declared state, as people read it
    :param is_intact: True if its parts still have the digest and checksum that the plan names
    """

    digest: str
    table_id: str
    version: int
    base: str
    spec: Mapping[str, Any]
    steps: tuple[str, ...]
    said: tuple[tuple[str, str], ...]
    diff: tuple[str, ...]
    is_intact: bool

    @classmethod
    def from_json(cls, wire: Any) -> ApprovedPlan:
        """Read the ``plan`` of a report.

        :raises PlanFileError: if it is not the plan of a migration
        """
        try:
            steps = tuple({step["step"]: step["digest"] for step in wire["steps"]}.values())
            said = tuple(map(_said, wire["steps"]))
            digest, table_id, base = (str(wire[key]) for key in ("digest", "table_id", "base"))
            version, spec = int(wire["version"]), dict(wire["spec"])
            diff = tuple(map(str, wire.get("diff") or ()))
        except (KeyError, TypeError, ValueError) as error:
            raise PlanFileError(f"This is not the plan of a migration: {error!r}.") from None
        intact = digest == digest_of(spec, table_id, base, list(steps)) and wire.get("checksum") == checksum_of(wire)
        return cls(digest, table_id, version, base, spec, steps, said, diff, intact)


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
        shown = now.to_json()
        said = tuple(map(_said, shown["steps"]))
        if left != approved.steps[len(approved.steps) - len(left) :]:
            yield requests.OTHER_PLAN.found(
                "{table} now needs other steps than the approved ones: {steps}.",
                table=table,
                steps=[step["explanation"] for step in now.to_json()["steps"]],
            )
        elif said != approved.said[len(approved.said) - len(said) :] or (
            len(said) == len(approved.said) and tuple(shown["diff"]) != approved.diff
        ):
            yield requests.OTHER_PLAN.found(
                "The text of the plan for {table} does not match its steps, so people may have approved other steps. "
                "Its steps are: {steps}.",
                table=table,
                steps=[explanation for explanation, _ in said],
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
_COSTS = re.compile(r"(?:1 data file|[\d,]+ data files) \([\d.]+ \w+\)| \([^()]*\bcommits?\b[^()]*\)$")


def _said(step: Mapping[str, Any]) -> tuple[str, str]:
    """Return the explanation and SQL of a step, without its costs."""
    return _COSTS.sub("", str(step.get("explanation"))), str(step.get("sql"))
