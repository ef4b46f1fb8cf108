"""What a table is, on the page: its protocol and features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element
from airflow_delta_provider.domain.report.table_report import TableReport

#: Features that are listed.
_MAX_FEATURES = 100


def state_section(table: TableReport) -> Markup | None:
    """Return protocol and features, as far as the report has them; None where it has none."""
    known: Mapping[str, Any] = table.history or table.detail or {}
    protocol = known.get("protocol") or table.protocol_after or table.protocol_before
    if not protocol:
        return None
    features = known.get("features")
    if features is None:
        names = {*protocol.get("readerFeatures", ()), *protocol.get("writerFeatures", ())}
        features = dict.fromkeys(sorted(names), "in the protocol")
    rows = [
        element("tr", element("th", name, scope="row"), element("td", str(state)))
        for name, state in list(features.items())[:_MAX_FEATURES]
    ]
    versions = f"reader version {protocol['minReaderVersion']}, writer version {protocol['minWriterVersion']}"
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
        element("summary", f"{said}: {versions}", f", {len(features)} features" if features else ""),
        listed if rows else "",
        class_="state-of-table",
    )
