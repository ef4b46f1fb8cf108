"""What a table is, on the page: its protocol and features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.rendering.counts import counted
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element
from airflow_delta_provider.domain.report.table_report import TableReport

#: Features that are listed.
_MAX_FEATURES = 100


def state_section(table: TableReport) -> Markup | None:
    """Return protocol and features, as far as the report has them; None where it has none."""
    known: Mapping[str, Any] = table.history or table.detail or {}
    protocol = known.get("protocol") or (table.protocol_after if table.changed else table.protocol_before)
    if not protocol:
        return None
    features = known.get("features")
    if features is None:
        features = dict.fromkeys(sorted(_listed(protocol)), "in the protocol")
    rows = [
        element("tr", element("th", name, scope="row"), element("td", str(state)))
        for name, state in list(features.items())[:_MAX_FEATURES]
    ]
    after = None if table.changed or table.protocol_after == protocol else table.protocol_after
    head = element("tr", element("th", "Feature", scope="col"), element("th", "State", scope="col"))
    listed = element(
        "table",
        element("caption", "Table features"),
        element("thead", head),
        element("tbody", *rows),
        class_="features",
    )
    said = "Protocol" if table.version is None else f"Protocol at version {table.version}"
    return element(
        "details",
        element(
            "summary", f"{said}: {_versions(protocol)}", f", {counted(len(features), 'feature')}" if features else ""
        ),
        element("p", "The plan leads to ", _versions(after), _added(protocol, after)) if after else "",
        listed if rows else "",
        class_="state-of-table",
    )


def _versions(protocol: Mapping[str, Any]) -> str:
    return f"reader version {protocol['minReaderVersion']}, writer version {protocol['minWriterVersion']}"


def _listed(protocol: Mapping[str, Any]) -> set[str]:
    return {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}


def _added(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return what the plan changes of the features that are listed, as the end of a sentence."""
    changes = (("with", _listed(after) - _listed(before)), ("without", _listed(before) - _listed(after)))
    return "".join(f", {word} {', '.join(sorted(names))}" for word, names in changes if names) + "."
