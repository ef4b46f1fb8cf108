"""What SARIF 2.1.0 requires of the parts that we write, in our words: closed, so that nothing else is written."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
INDEX: Schema = {"type": "integer", "minimum": 0}
LEVEL: Schema = {"enum": ["none", "note", "warning", "error"]}
PROPERTIES: Schema = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True, "items": TEXT}}}
TIME: Schema = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$"}
URI: Schema = {"type": "string", "pattern": r"^([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*$"}


def made_of(required: Schema, **optional: Schema) -> Schema:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
        "additionalProperties": False,
    }


def many(items: Schema, **keywords: Any) -> Schema:
    return {"type": "array", "items": items, **keywords}


MESSAGE = made_of({"text": TEXT})
ARTIFACT = made_of({"uri": URI}, uriBaseId=TEXT)
PHYSICAL = made_of({"artifactLocation": ARTIFACT}, region=made_of({"startLine": {"type": "integer", "minimum": 1}}))
LOGICAL = made_of({"fullyQualifiedName": TEXT}, name=TEXT, kind=TEXT)
LOCATION = made_of({"physicalLocation": PHYSICAL}, logicalLocations=many(LOGICAL, uniqueItems=True), id=INDEX)
DESCRIPTOR = made_of(
    {"id": TEXT},
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=MESSAGE,
    helpUri={**URI, "format": "uri"},
    defaultConfiguration=made_of({"level": LEVEL}),
    properties=PROPERTIES,
)
SUPPRESSION = made_of({"kind": {"enum": ["inSource", "external"]}}, status={"const": "accepted"}, justification=TEXT)
RESULT = made_of(
    {"ruleId": TEXT, "ruleIndex": INDEX, "level": LEVEL, "message": MESSAGE, "suppressions": many(SUPPRESSION)},
    locations=many(LOCATION, minItems=1),
    relatedLocations=many(LOCATION, uniqueItems=True),
    partialFingerprints={"type": "object", "additionalProperties": TEXT},
    baselineState={"enum": ["new", "unchanged", "updated", "absent"]},
    properties=PROPERTIES,
)
NOTIFICATION = made_of(
    {"message": MESSAGE},
    level=LEVEL,
    descriptor=made_of({"id": TEXT}, index=INDEX),
    locations=many(LOCATION, uniqueItems=True),
)
INVOCATION = made_of(
    {"executionSuccessful": {"type": "boolean"}},
    startTimeUtc=TIME,
    endTimeUtc=TIME,
    toolExecutionNotifications=many(NOTIFICATION),
    toolConfigurationNotifications=many(NOTIFICATION),
)
DRIVER = made_of(
    {"name": TEXT},
    semanticVersion=TEXT,
    rules=many(DESCRIPTOR, uniqueItems=True),
    notifications=many(DESCRIPTOR, uniqueItems=True),
)
RUN = made_of(
    {"tool": made_of({"driver": DRIVER}), "results": many(RESULT)},
    automationDetails=made_of({"id": TEXT}),
    invocations=many(INVOCATION),
    originalUriBaseIds={"type": "object", "additionalProperties": made_of({"description": MESSAGE})},
    properties=PROPERTIES,
)
LOG = made_of({"version": {"const": "2.1.0"}, "runs": many(RUN, minItems=1)}, **{"$schema": {"format": "uri", **TEXT}})
