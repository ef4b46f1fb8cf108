"""Writes ``docs/reference/engine-facts.json`` and its schema from the profiles of engines: part of ``make docs``.

The facts are for use outside of this package: each stands alone, with its source and the kind of its source.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from airflow_delta_provider.domain.delta.features.feature import FeatureKind
from airflow_delta_provider.domain.delta.features.registry import FEATURES
from airflow_delta_provider.domain.engine import profile
from airflow_delta_provider.domain.engine.conditions import CLAUSE_NAMES, Behavior
from airflow_delta_provider.domain.engine.profile import PROFILES, Basis, Profile, Release, Support, VersionScheme
from scripts.measure_engines.comparison import RESULTS, measured_features, reads

#: Version of the form. A change that breaks readers of the file increases the first number.
FORM = "1.0"
_FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
FACTS, SCHEMA = _FOLDER / "engine-facts.json", _FOLDER / "engine-facts.schema.json"
_PROFILES = Path(profile.__file__).with_name("profiles.json")
#: Objects without others in them: each is written on one line.
_INNERMOST = re.compile(r"\{[^{}\[\]]*\}")
_ANSWERS = {
    Support.YES: "supports",
    Support.NO: "refuses",
    Support.WRONG: "disregards",
    Support.UNKNOWN: "unknown",
}


def render() -> str:
    """Return the facts."""
    stated = {entry["engine"]: entry for entry in json.loads(_PROFILES.read_text("utf-8"))}
    for entry in stated.values():
        entry.setdefault("conditions", stated.get(entry.get("contains"), {}).get("conditions", ()))
    engines = [_engine(profile, stated[name]["conditions"]) for name, profile in PROFILES.items()]
    facts = {"form": FORM, "engines": engines, "misreads": _misreads()}
    text = json.dumps(facts, indent=1, ensure_ascii=False)
    return _INNERMOST.sub(lambda found: " ".join(found[0].split()), text) + "\n"


def _engine(profile: Profile, conditions: Any) -> dict[str, Any]:
    return {
        "engine": profile.name,
        "label": profile.label,
        "aliases": list(profile.aliases),
        "read_only": profile.read_only,
        "no_reader": profile.no_reader,
        "versions": profile.versions.value,
        "later_releases_keep_features": profile.keeps_features,
        "remark": profile.remark,
        "releases": [_release(profile, release) for release in profile.releases],
        "conditions": list(conditions),
    }


def _release(profile: Profile, release: Release) -> dict[str, Any]:
    features = {}
    tried = measured_features(profile.name, release.version)
    for feature in FEATURES.values():
        reading = release.reading(feature.name) if feature.kind is not FeatureKind.WRITER else Support.YES
        cell: dict[str, Any] = {"read": _ANSWERS[reading]}
        if not profile.read_only:
            cell["write"] = _ANSWERS[release.writing(feature.name)]
            if (unused := release.writing(feature.name, unused=True)) is not release.writing(feature.name):
                cell["write_unused"] = _ANSWERS[unused]
        if {"unknown"} != {cell["read"], cell.get("write", "unknown")}:
            measured = feature.name in tried
            features[feature.name] = {**cell, "basis": (Basis.MEASURED if measured else release.basis).value}
    changes = None if release.widenings is None else [f"{old} to {new}" for old, new in sorted(release.widenings)]
    return {
        "version": release.version,
        "date": release.date,
        "basis": release.basis.value,
        "source": release.source,
        "features": features,
        "type_changes": changes,
    }


def _misreads() -> list[dict[str, Any]]:
    """Return the reads that returned wrong rows without an error, with the statements that make the table."""
    days = {key: engine["date"] for key, engine in json.loads(RESULTS.read_text("utf-8"))["engines"].items()}
    return [
        {
            "engine": read.engine,
            "date": days.get(read.engine, ""),
            "table": read.table,
            "statements": list(read.statements),
            "wrong": read.wrong,
        }
        for read in reads()
        if read.wrong
    ]


def render_schema() -> str:
    """Return the JSON schema of the facts."""
    text, texts = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
    answer = {"enum": list(_ANSWERS.values())}
    basis = {"enum": [basis.value for basis in Basis if basis is not Basis.STATED]}
    cell = _object({"read": answer, "write": answer, "write_unused": answer, "basis": basis}, ["read", "basis"])
    release = _object(
        {
            "version": text,
            "date": {"type": "string", "description": "Day of the release, or of reading the source; may be empty."},
            "basis": basis,
            "source": {"type": "string", "minLength": 1},
            "features": {"type": "object", "additionalProperties": cell},
            "type_changes": {"type": ["array", "null"], "items": text, "description": "The only ones; null for all."},
        }
    )
    condition = _object(
        {
            "since": text,
            "until": text,
            "outcome": {"enum": [behavior.value for behavior in Behavior]},
            "if": {
                "type": "object",
                "minProperties": 1,
                "propertyNames": {"enum": list(CLAUSE_NAMES)},
                "description": "All clauses have to hold: see the guide on compatibility.",
            },
            "effect": text,
            "remedy": text,
            "source": text,
            "date": text,
        },
        ["outcome", "if", "effect", "source", "date"],
    )
    engine = _object(
        {
            "engine": text,
            "label": text,
            "aliases": texts,
            "read_only": {"type": "boolean"},
            "no_reader": {"type": "string", "description": "Source that says that it reads no Delta tables; or empty."},
            "versions": {"enum": [versions.value for versions in VersionScheme]},
            "later_releases_keep_features": {"type": "boolean"},
            "remark": text,
            "releases": {"type": "array", "items": release, "minItems": 1},
            "conditions": {"type": "array", "items": condition},
        }
    )
    wrong = {"type": "object", "minProperties": 1, "additionalProperties": text}
    misread = _object({"engine": text, "date": text, "table": text, "statements": texts, "wrong": wrong})
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Facts about engines and Delta tables",
        **_object(
            {
                "form": {"const": FORM, "description": "Version of this form."},
                "engines": {"type": "array", "items": engine},
                "misreads": {"type": "array", "items": misread, "description": "Measured: rows were wrong, no error."},
            }
        ),
    }
    return json.dumps(schema, indent=1) + "\n"


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    needed = list(properties) if required is None else required
    return {"type": "object", "additionalProperties": False, "required": needed, "properties": properties}
