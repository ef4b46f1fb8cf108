"""The action that broke a rule, as JSON, shortened for display."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.checks.registry import rule_of
from airflow_delta_provider.domain.checks.rule import OF_SUBJECT
from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.report.finding import Finding

#: Maximum numbers of characters of the action, and of a string in it.
_MOST, _MOST_TEXT = 800, 300
#: Kinds of actions to show if the commit has no action of the expected kind.
_REMOVE = "remove"
_OTHERWISE = ("metaData", "protocol", "domainMetadata")


def shown_action(finding: Finding, actions: Sequence[Action]) -> str | None:
    """Return the action of a commit that a finding is about, shortened; None if the commit has none.

    :param actions: actions of the commit, as in the log
    """
    chosen = next(_candidates(finding, actions), None)
    if chosen is None:
        return None
    if finding.column is not None and isinstance(chosen.get("metaData"), Mapping):
        chosen = {"metaData": _about_column(chosen["metaData"], finding.column)}
    text = json.dumps(_shortened(chosen), ensure_ascii=False)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def _candidates(finding: Finding, actions: Sequence[Action]) -> Iterator[Action]:
    rule = rule_of(finding)
    shown = rule.shows or rule.family.shows
    if finding.path is not None:
        removed = shown == _REMOVE or finding.subject == _REMOVE
        for kind in ("remove", "add", "cdc") if removed else ("add", "remove", "cdc"):
            yield from (a for a in actions if isinstance(a.get(kind), Mapping) and a[kind].get("path") == finding.path)
    what = (finding.subject if shown == OF_SUBJECT else shown) or _OTHERWISE[0]
    if what == _REMOVE:
        what = rule.family.shows
    for kind in (what, *_OTHERWISE):
        found = [action for action in actions if kind in action]
        yield from (
            a for a in found if finding.subject and finding.subject in json.dumps(a[str(kind)], ensure_ascii=False)
        )
        yield from reversed(found)


def _about_column(metadata: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    """Return a metaData action that keeps only the top-level field that a finding is about in its schema."""
    try:
        fields = json.loads(metadata["schemaString"])["fields"]
        found = [field for field in fields if column == field["name"] or column.startswith(f"{field['name']}.")]
    except (ValueError, KeyError, TypeError, RecursionError):
        return metadata
    if not found or len(found) == len(fields):
        return metadata
    field = max(found, key=lambda field: len(field["name"]))
    return {**metadata, "schemaString": f"…{json.dumps(field, ensure_ascii=False)}…"}


def _shortened(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if isinstance(value, str) and len(value) > _MOST_TEXT:
        return value[: _MOST_TEXT - 1] + "…"
    return value
