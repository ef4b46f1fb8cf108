"""Renders ``docs/reference/engines.md`` from the profiles of engines: part of ``make docs``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.features.feature import Feature, FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.engine import profile
from airflow_delta_provider.domain.engine.profile import PROFILES, Profile, Release, Support
from airflow_delta_provider.domain.engine.statistics_use import ALL, STRUCT, TYPES, UNKNOWN, Reliance
from scripts.measure_engines.comparison import measured_features

_PROFILES = Path(profile.__file__).with_name("profiles.json")
PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "engines.md"
_INTRODUCTION = """\
# Engines

<!-- Written by `make docs` from airflow_delta_provider/domain/engine/profiles.json: change it there. -->

These tables show, by release, how engines treat tables with a table feature. A writer has to support every feature of
the table, a reader only reader features. So a cell covers reading and writing, or only writing.

| cell | means |
|---|---|
| `RW` | read and written |
| `R` | read; writing is refused |
| `R?` | read; support for writing is unknown |
| `W` | written; readers need no support |
| `-` | refused |
| `!` | read or written as if the feature were absent, without an error |
| `*` | only under conditions: type changes, or features that the table does not use |
| `?` | no source says, or the ways to read or write a table differ |

If the listed releases before and after an unlisted release agree, that release behaves in the same way. Nothing is
known about later releases.

A second table per engine shows the statistics of files on which its releases rely: if these statistics are wrong, the
engine returns wrong results without an error. `no` is known; `?` is not. "Fields" are fields of structs.

The line below a release names the kind of its source: `measured` with tables, read from the `source` of the engine,
`documented`, or `derived` from a library that the engine contains. Bold cells were measured with that release, whatever
the source of the others.

A release can behave otherwise under conditions, such as values of a column or the state of a property: see
[conditions](../guides/compatibility.md#conditions). They are listed below the table of an engine.

The same facts are in [`engine-facts.json`](engine-facts.json), with a [schema](engine-facts.schema.json), for use by
other programs. The file also lists the measured reads that returned wrong rows, with the statements that make each
table.\
"""
#: Titles of columns about statistics.
_USES = {
    Reliance.BOUNDS: "skips files by minValues and maxValues of",
    Reliance.NULLS: "skips files by nullCount of",
    Reliance.EXTREMES: "answers MIN and MAX of",
    Reliance.COUNTS: "answers COUNT(column) of",
    Reliance.ROWS: "answers COUNT(*)",
}
_CELLS = {
    (Support.YES, Support.YES): "RW",
    (Support.YES, Support.NO): "R",
    (Support.YES, Support.UNKNOWN): "R?",
    (Support.NO, Support.NO): "-",
    (Support.NO, Support.UNKNOWN): "-",
}


def render() -> str:
    """Return the page."""
    stated = {entry["engine"]: entry for entry in json.loads(_PROFILES.read_text("utf-8"))}
    sections = (_section(profile, stated[name]) for name, profile in PROFILES.items())
    return "\n\n".join([_INTRODUCTION, _shares(), *sections]) + "\n"


#: Engines and features of a usual policy.
_USUAL_ENGINES = (
    "Trino",
    "Athena",
    "Snowflake",
    "BigQuery",
    "Databricks Runtime",
    "Fabric Spark",
    "DuckDB",
    "Polars",
    "delta-rs",
    "Delta Kernel",
)
_USUAL_FEATURES = (
    "columnMapping deletionVectors timestampNtz typeWidening v2Checkpoint variantType rowTracking clustering "
    "inCommitTimestamp identityColumns checkConstraints changeDataFeed"
).split()


def _shares() -> str:
    """Return how many cells of a usual policy are known, in the newest release of each engine."""
    known = measured = total = possible = 0
    for name in _USUAL_ENGINES:
        profile = PROFILES[name]
        release = profile.releases[-1]
        for feature in _USUAL_FEATURES:
            reader = FEATURES[feature].kind is not FeatureKind.WRITER
            reading = release.reading(feature) if reader else Support.YES
            answers = [("read", reading)]
            if not profile.read_only:
                answers.append(("write", release.writing(feature)))
            for access, support in answers:
                total += 1
                possible += bool(measured_features(name, ""))
                known += support is not Support.UNKNOWN
                measured += support is not Support.UNKNOWN and feature in measured_features(
                    name, release.version, access
                )
    return (
        f"Of the {total} cells that a policy of {len(_USUAL_ENGINES)} engines ({', '.join(_USUAL_ENGINES)}) and "
        f"{len(_USUAL_FEATURES)} features asks for, {known * 100 // total} % are known for the newest release, and "
        f"{measured * 100 // total} % were measured, of {possible * 100 // total} % that belong to engines that can be "
        "installed. The other engines are documented or read from source. A reader needs no support of writer features."
    )


def _section(profile: Profile, stated: Mapping[str, Any]) -> str:
    if contained := stated.get("contains"):
        facts = f"Derived: all facts are those of the [{contained}](#{contained.lower()}) release of the same number."
        return "\n\n".join([f"## {profile.label}", profile.remark, facts, f"Sources:\n\n- {stated['source']}"])
    if profile.no_reader:
        return "\n\n".join([f"## {profile.label}", "It reads no Delta tables. " + profile.remark, profile.no_reader])
    versions = [release.version or "stored source" for release in profile.releases]
    bases = ["", *(release.basis.value for release in profile.releases)]
    rows = [["feature", *versions], ["---"] * (len(versions) + 1), bases, *_rows(profile)]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    sources = dict.fromkeys(f"- {release.source}" for release in profile.releases)
    dates = ", ".join(
        f"{version}: {release.date}"
        for version, release in zip(versions, profile.releases)
        if release.date and version != release.date
    )
    facts = [f"## {profile.label}", profile.remark, table, f"Dates: {dates}." if dates else "", _statistics(profile)]
    sources |= dict.fromkeys(
        f"- Statistics: {release.statistics.source}" for release in profile.releases if release.statistics is not None
    )
    facts.append(_conditions(stated.get("conditions", ())))
    return "\n\n".join(filter(None, [*facts, "Sources:\n\n" + "\n".join(sources)]))


def _conditions(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Return the conditions of an engine as a table; empty if there are none."""
    if not conditions:
        return ""
    lines = ["| releases | condition | the engine | remedy | source |", "|---|---|---|---|---|"]
    for each in conditions:
        since, until = each.get("since"), each.get("until")
        releases = f"{since or 'first'} to {until}" if until else f"from {since}" if since else "all"
        effect = f"{each['effect']}{_SILENTLY.get(each['outcome'], '')}"
        condition = "<br>".join(f"`{name}: {_value(value)}`" for name, value in each["if"].items())
        source = ", ".join(filter(None, (each.get("source"), each.get("date"))))
        lines.append(f"| {releases} | {condition} | {effect} | {each.get('remedy', '')} | {source} |")
    return "\n".join(lines)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False).replace('"', "")


_SILENTLY = {"misreads": ", without an error", "miswrites": ", without an error", "undecided": " (not certain)"}


def _rows(profile: Profile) -> Iterator[list[str]]:
    for feature in FEATURES.values():
        if profile.read_only and feature.kind is FeatureKind.WRITER:
            continue
        cells = [_cell(profile, release, feature) for release in profile.releases]
        if set(cells) - {"?"}:
            tried = [feature.name in measured_features(profile.name, release.version) for release in profile.releases]
            bold = [f"**{cell}**" if was and cell != "?" else cell for cell, was in zip(cells, tried)]
            yield [f"`{feature.name}`", *bold]


def _statistics(profile: Profile) -> str:
    """Return the table of the statistics on which releases rely; empty if nothing is known."""
    known = {release.version: release.statistics for release in profile.releases}
    if not any(known.values()):
        return ""
    rows = [["release", *_USES.values()], ["---"] * (len(_USES) + 1)]
    last: list[str] = []
    for version, use in known.items():
        cells = ["?" if use is None else _types(reliance, use.types.get(reliance)) for reliance in _USES]
        if cells != last:
            rows.append([f"{version or 'stored source'}", *cells])
        last = cells
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _types(use: Reliance, types: frozenset[str] | None) -> str:
    if types is None:
        return "?"
    if not use.is_of_columns:
        return "yes" if types else "no"
    known = {word: name for name in (*TYPES, STRUCT) for word in (name, f"{UNKNOWN}{name}") if word in types}
    named = ["all types"] if ALL in types else [word for word, name in known.items() if name != STRUCT]
    fields = [word for word, name in known.items() if name == STRUCT]
    return " ".join(named) + ("; " + fields[0].replace(STRUCT, "fields") if fields else "") or "no"


def _cell(profile: Profile, release: Release, feature: Feature) -> str:
    """Return what a release does with a feature."""
    name = feature.name
    writing = release.writing(name)
    if feature.kind is FeatureKind.WRITER:
        conditional = {word.partition("@")[0] for word in release.writes_unused}
        texts = {Support.YES: "W", Support.NO: "W*" if name in conditional else "-", Support.WRONG: "!"}
        return texts.get(writing, "?")
    reading = release.reading(name)
    if Support.WRONG in (reading, writing) or f"{name}@version" in release.misreads:
        return "!"
    if profile.read_only:
        return {Support.YES: "R", Support.NO: "-"}.get(reading, "?")
    limited = release.widenings is not None and name.startswith("typeWidening") and reading is Support.YES
    return _CELLS.get((reading, writing), "?") + ("*" if limited else "")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
