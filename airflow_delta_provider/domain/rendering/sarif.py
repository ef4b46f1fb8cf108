"""A report as SARIF 2.1.0, for code scanning and editors.

Findings about a table are results. Reasons why a table could not be checked are notifications: otherwise, a service
that follows results over time would open and close alerts whenever a storage has problems. Fixed findings are left out,
as services close results that a run no longer has. Accepted findings are suppressed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.checks.registry import RULES
from airflow_delta_provider.domain.checks.rule import Rule
from airflow_delta_provider.domain.rendering.links import RuleLinks, TablePlace
from airflow_delta_provider.domain.rendering.presentation import Presentation
from airflow_delta_provider.domain.rendering.report_document import Wording, is_about_table
from airflow_delta_provider.domain.report.confirmation import identity
from airflow_delta_provider.domain.report.report import Finding, JobReport, Severity, Status, TableReport, Verdict
from airflow_delta_provider.domain.text import visible, visible_lines

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Base of the URIs of a catalog's tables. A report does not contain the catalog's location.
CATALOG = "CATALOG"
_CATALOG_TEXT = "The catalog that the tables are named in."
#: An absolute URI. Code scanning refuses files with such URIs, so each scheme is a base.
_ABSOLUTE = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):/*(?P<path>.*)", re.DOTALL)
#: Maximum number of results: GitHub refuses a file with more.
MAX_RESULTS = 25_000
_GRAVEST_FIRST = (Severity.ERROR, Severity.UNDECIDED, Severity.WARNING)
_LEVELS = {Severity.ERROR: "error", Severity.UNDECIDED: "warning", Severity.WARNING: "warning"}
_BASELINE = {Status.NEW: "new", Status.KNOWN: "unchanged", Status.CHANGED: "updated"}
#: Text that would become a link in a message.
_LINK = re.compile(r"\](?=\()")

Json = dict[str, Any]
#: A finding with its table.
Found = tuple[TableReport, Finding]


def render(report: JobReport, presentation: Presentation | None = None) -> str:
    """Return a SARIF log with one run."""
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, presentation or Presentation())]}
    return json.dumps(log, indent=1).replace("##", "#\\u0023") + "\n"  # no CI finds its ##[command] in it


def _run(report: JobReport, shown_as: Presentation) -> Json:
    found = [(table, finding) for table in report.tables for finding in table.findings if _applies(finding)]
    results = _gravest([(table, finding) for table, finding in found if is_about_table(finding)])
    notices = [(table, finding) for table, finding in found if not is_about_table(finding)]
    rules, notifications = _descriptors(results, shown_as.rules), _descriptors(notices, shown_as.rules)
    places = {table.table: TablePlace.of(table, report.kind, shown_as.sources) for table in report.tables}
    driver: Json = {"name": "delta-provider", "semanticVersion": __version__, "rules": rules}
    if notifications:
        driver["notifications"] = notifications
    run: Json = {
        "tool": {"driver": driver},
        "automationDetails": {"id": f"delta-provider/{visible(report.kind)}/"},
        "invocations": [_invocation(report, notices, notifications, places)],
        "results": _results(results, rules, places),
        "properties": {"verdict": report.verdict.value, "tables": len(report.tables)},
    }
    if bases := sorted(set(_bases_in(run))):
        run["originalUriBaseIds"] = {base: {"description": {"text": _base_text(base)}} for base in bases}
    return run


def _gravest(found: list[Found]) -> list[Found]:
    """Return at most ``MAX_RESULTS`` findings in their order, without the least grave ones if there are more."""
    if len(found) <= MAX_RESULTS:
        return found
    ranked = sorted(range(len(found)), key=lambda number: _GRAVEST_FIRST.index(found[number][1].severity))
    return [found[number] for number in sorted(ranked[:MAX_RESULTS])]


def _bases_in(part: Any) -> Iterator[str]:
    """Yield the bases of the URIs in a part of the log."""
    if isinstance(part, dict):
        if "uriBaseId" in part:
            yield part["uriBaseId"]
        for value in part.values():
            yield from _bases_in(value)
    elif isinstance(part, list):
        for value in part:
            yield from _bases_in(value)


def _base_text(base: str) -> str:
    if base == CATALOG:
        return _CATALOG_TEXT
    return "Files outside the repository, from the root on." if base == "FILE" else f"{base.lower()}://"


def _applies(finding: Finding) -> bool:
    return finding.is_open or (finding.waiver is not None and finding.healed_version is None)


def _descriptors(found: Iterable[Found], links: RuleLinks) -> list[Json]:
    """Return the descriptors of the rules of findings, by code."""
    return [_descriptor(code, links) for code in sorted({finding.code for _, finding in found})]


def _descriptor(code: str, links: RuleLinks) -> Json:
    rule = RULES.get(code)
    if rule is None:
        return {"id": code}
    descriptor: Json = {
        "id": code,
        "name": _name(rule),
        "shortDescription": {"text": _message_text(f"{rule.title[:1].upper()}{rule.title[1:]}.")},
        "fullDescription": {"text": _message_text(rule.effect or rule.title)},
        "help": {"text": _message_text("\n\n".join(_help(rule)))},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["delta", rule.family.title], "scope": rule.scope.value},
    }
    if url := links.url(code):
        descriptor["helpUri"] = url
    return descriptor


def _name(rule: Rule) -> str:
    """Return the title as one word, which SARIF requires for a rule's name."""
    return "".join(word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", rule.title))


def _help(rule: Rule) -> list[str]:
    source = f"Source: {rule.source}." if rule.source else ""
    return [part for part in (rule.effect, f"Remedy: {rule.remedy}", source) if part]


def _results(found: Sequence[Found], rules: Sequence[Json], places: Mapping[str, TablePlace]) -> list[Json]:
    """Return the results. SARIF requires a baseline state or suppression on all results if one has it."""
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    results = [_result(table, finding, index[finding.code], places[table.table]) for table, finding in found]
    if found and all(finding.status in _BASELINE for _, finding in found):
        for result, (_, finding) in zip(results, found):
            result["baselineState"] = _BASELINE[finding.status]  # type: ignore[index]  # only with a status
    return results


def _result(table: TableReport, finding: Finding, rule: int, place: TablePlace) -> Json:
    wording, known = Wording.of(finding), identity(finding)
    waiver = finding.waiver
    accepted = waiver and {
        "kind": "external",
        "status": "accepted",
        "justification": visible(f"{waiver.owner}, until {waiver.expires}: {waiver.reason}"),
    }
    properties = {
        "severity": finding.severity.value,
        "table": visible(table.table),
        **{
            name: visible(value) if isinstance(value, str) else value
            for name, value in (
                ("version", finding.version),
                ("column", finding.column),
                ("subject", finding.subject),
                ("operation", finding.operation),
                ("writer", finding.writer or finding.engine),
                ("user", finding.user),
                ("timestamp", finding.timestamp),
                ("causedBy", finding.caused_by),
            )
            if value is not None
        },
    }
    result: Json = {
        "ruleId": finding.code,
        "ruleIndex": rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _message_text("\n".join(wording.paragraphs))},
        "locations": [_location(table, finding, place)],
        "partialFingerprints": {
            "finding/v1": known,
            # GitHub compares only this one; unlike a line, it does not change with the file.
            "primaryLocationLineHash": hashlib.sha256(f"{place.uri}\n{known}".encode()).hexdigest()[:32],
        },
        "suppressions": [accepted] if accepted else [],
        "properties": properties,
    }
    if finding.path is not None:
        result["relatedLocations"] = [{"id": 1, "physicalLocation": _artifact(place, place.file(finding.path))}]
    return result


def _location(table: TableReport, finding: Finding, place: TablePlace) -> Json:
    """Return the location of a finding: its commit or the log, and the table and column.

    The log is used if the commit is unknown.
    """
    uri = place.log if finding.version is None else place.commit(finding.version)
    name = visible(table.table)
    logical: list[Json] = [{"fullyQualifiedName": name, "kind": "table"}]
    if finding.column is not None:
        column = visible(finding.column)
        logical.append({"name": column, "fullyQualifiedName": f"{name}.{column}", "kind": "column"})
    physical = _artifact(place, uri)
    return {"physicalLocation": {**physical, "region": {"startLine": 1}}, "logicalLocations": logical}


def _artifact(place: TablePlace, uri: str) -> Json:
    if absolute := _ABSOLUTE.fullmatch(uri):
        # A colon in the first segment would end a scheme.
        relative = absolute["path"].replace(":", "%3A")
        return {"artifactLocation": {"uri": relative, "uriBaseId": absolute["scheme"].upper()}}
    outside = not uri.startswith(f"{place.uri}/")
    return {"artifactLocation": {"uri": uri} if place.known or outside else {"uri": uri, "uriBaseId": CATALOG}}


def _invocation(
    report: JobReport, notices: Sequence[Found], descriptors: Sequence[Json], places: Mapping[str, TablePlace]
) -> Json:
    """Return the times of the job, faults of the platform, and refused requests."""
    index = {known["id"]: number for number, known in enumerate(descriptors)}
    faults = [found for found in notices if found[0].verdict is Verdict.FAULT]
    refusals = [found for found in notices if found[0].verdict is not Verdict.FAULT]
    invocation: Json = {"executionSuccessful": report.verdict is not Verdict.FAULT}
    for key, time in (("startTimeUtc", report.started_at), ("endTimeUtc", report.finished_at)):
        if utc := _utc(time):
            invocation[key] = utc
    for key, found in (("toolExecutionNotifications", faults), ("toolConfigurationNotifications", refusals)):
        if found:
            invocation[key] = [
                {
                    "descriptor": {"id": finding.code, "index": index[finding.code]},
                    "level": _LEVELS[finding.severity],
                    "message": {"text": _message_text("\n".join(Wording.of(finding).paragraphs))},
                    "locations": [
                        {
                            "physicalLocation": _artifact(places[table.table], places[table.table].log),
                            "logicalLocations": [{"fullyQualifiedName": visible(table.table), "kind": "table"}],
                        }
                    ],
                }
                for table, finding in found
            ]
    return invocation


def _utc(text: str) -> str | None:
    try:
        time = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except ValueError:
        return None
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _message_text(text: str) -> str:
    """Return ``text`` as a SARIF message, with placeholders and links escaped."""
    lines = "\n".join(visible_lines(text)) or " "
    return _LINK.sub("] ", lines.replace("{", "{{").replace("}", "}}"))
