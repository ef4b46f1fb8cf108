"""Tables on the page: one row each, which can be opened if it has more to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from airflow_delta_provider.domain.rendering.counts import counted, counted_codes
from airflow_delta_provider.domain.rendering.html_page.findings import at_table, badge
from airflow_delta_provider.domain.rendering.html_page.markup import Markup, element, joined, lines
from airflow_delta_provider.domain.rendering.html_page.plan import plan_section
from airflow_delta_provider.domain.rendering.html_page.timeline import event_table, timeline
from airflow_delta_provider.domain.rendering.problem import by_cause
from airflow_delta_provider.domain.rendering.rule_link import RuleLinks
from airflow_delta_provider.domain.rendering.table_lines import answers, versions
from airflow_delta_provider.domain.rendering.totals import decisive_codes
from airflow_delta_provider.domain.report.table_report import TableReport

#: Maximum number of findings of a table that are shown in full.
_MAX_FINDINGS = 20
_WIDTH = 120


def row(
    table: TableReport, kind: str, identifier: str, links: RuleLinks, *, room: int, opened: bool
) -> tuple[Markup, int]:
    """Return the row of a table, and the number of findings in it.

    :param links: links to rules
    :param room: number of findings that the page still has room for
    :param opened: True if the row is open from the beginning
    """
    roots = by_cause(table.findings)
    shown = min(len(roots), _MAX_FINDINGS, room)
    body = joined(_body(table, kind, shown, links))
    head = joined(
        badge(table.verdict.value),
        " ",
        element("h3", table.table),
        " ",
        element("span", f"version {known}", class_="version") if (known := versions(table)) else "",
        " ",
        element("span", counted_codes(decisive_codes(table), 6), class_="codes"),
    )
    content = (
        element("details", element("summary", head), element("div", body, class_="body"), open=opened)
        if body
        else element("div", head, class_="row")
    )
    return element("li", content, id=identifier, data_verdict=table.verdict.value), shown


def _body(table: TableReport, kind: str, shown: int, links: RuleLinks) -> Iterator[Markup]:
    picture = timeline(table)
    if picture is not None:
        yield element("figure", element("figcaption", "Versions"), picture)
    yield from filter(None, (event_table(table), state_section(table)))
    if table.plan is not None:
        yield plan_section(table.plan, kind, links)
    answered = "\n".join(line.removeprefix("    ") for line in answers(replace(table, plan=None), _WIDTH))
    if answered:
        yield element("pre", lines(answered), tabindex=0, role="region", aria_label="Answer")
    ranked = sorted(by_cause(table.findings), key=lambda root: not root[0].is_open)
    ranked, rest = ranked[:shown], ranked[shown:]
    counting = [at_table(finding, follows, kind, links) for finding, follows in ranked if finding.is_open]
    others = [at_table(finding, follows, kind, links) for finding, follows in ranked if not finding.is_open]
    yield joined(*counting)
    if others:
        summary = element("summary", f"Fixed, accepted or resolved ({len(others)})")
        yield element("details", summary, *others, open=not counting, class_="others")
    if rest:
        codes = counted_codes((finding.code for finding, _ in rest), 20)
        left = counted(len(rest), "more finding" if shown else "finding")
        yield element("p", f"… and {left}, which the report as JSON has: {codes}")


#: Maximum number of features that are listed.
_MAX_FEATURES = 100


def state_section(table: TableReport) -> Markup | None:
    """Return protocol and features, as far as the report has them; None if it has no protocol."""
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
    """Return the listed features that the plan adds and removes, as the end of a sentence."""
    changes = (("with", _listed(after) - _listed(before)), ("without", _listed(before) - _listed(after)))
    return "".join(f", {word} {', '.join(sorted(names))}" for word, names in changes if names) + "."
