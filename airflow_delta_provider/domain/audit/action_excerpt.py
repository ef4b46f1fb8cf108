"""The action that broke a rule, as JSON, short enough to be read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_delta_provider.domain.delta.commit import Action
from airflow_delta_provider.domain.delta.live_file import LiveFile
from airflow_delta_provider.domain.report.finding import Finding

#: Characters of an excerpt, and of a text in it.
_MOST, _MOST_TEXT = 800, 300
#: The kind of action that the rules of a family are about; files are found by their paths.
_KINDS = {"TF": "protocol", "MD": "metaData", "CM": "metaData", "TW": "metaData", "UT": "metaData", "AC": "commitInfo"}
_KINDS_OF_RULES = {
    "RT18": "commitInfo",
    "RT10": "domainMetadata",
    "RT11": "domainMetadata",
    "RT17": "metaData",
    "TF14": "protocol",
    "TF15": "metaData",
    "TF22": "metaData",
    "TF25": "metaData",
    "MD14": "domainMetadata",
    "UT08": "protocol",
    "CM17": "domainMetadata",
    "AC04": "domainMetadata",
    "AC05": "domainMetadata",
    "AC07": "txn",
    "AC11": "metaData",
}
#: Where to look when the commit has no such action: what it changed all the same.
_OTHERWISE = ("metaData", "protocol", "domainMetadata")


def excerpt(finding: Finding, actions: Sequence[Action]) -> str | None:
    """Return the action of a commit that a finding is about, shortened; None where the commit has none.

    :param actions: of the commit, as in the log
    """
    chosen = next(_candidates(finding, actions), None)
    if chosen is None:
        return None
    if finding.column is not None and isinstance(chosen.get("metaData"), Mapping):
        chosen = {"metaData": _about_column(chosen["metaData"], finding.column)}
    text = json.dumps(_shortened(chosen), ensure_ascii=False)
    return text if len(text) <= _MOST else text[: _MOST - 1] + "…"


def _candidates(finding: Finding, actions: Sequence[Action]) -> Iterator[Action]:
    if finding.path is not None:
        removed = finding.code in ("RT12", "AC03", "AC09", "AC14") or finding.subject == "remove"
        for kind in ("remove", "add", "cdc") if removed else ("add", "remove", "cdc"):
            yield from (a for a in actions if isinstance(a.get(kind), Mapping) and a[kind].get("path") == finding.path)
    what = finding.subject if finding.code in ("AC16", "AC17") else _KINDS_OF_RULES.get(finding.code)
    what = what or _KINDS.get(finding.code[:2], _OTHERWISE[0])
    for kind in (what, *_OTHERWISE):
        found = [action for action in actions if kind in action]
        yield from (
            a for a in found if finding.subject and finding.subject in json.dumps(a[str(kind)], ensure_ascii=False)
        )
        yield from reversed(found)


def excerpt_of_file(file: LiveFile) -> str:
    """Return what an ``add`` action said of a file, where the action itself is not at hand."""
    said = {
        "path": file.path,
        "size": file.size,
        "baseRowId": file.base_row_id,
        "defaultRowCommitVersion": file.default_row_commit_version,
        "stats": None if file.num_records is None else json.dumps({"numRecords": file.num_records}),
    }
    add = {key: value for key, value in said.items() if value is not None}
    return json.dumps(_shortened({"add": add}), ensure_ascii=False)


def _about_column(metadata: Mapping[str, Any], column: str) -> Mapping[str, Any]:
    """Return a metaData action with no more of its schema than the field at the top that a finding is about."""
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
