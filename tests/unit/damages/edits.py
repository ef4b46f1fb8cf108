"""What is done to the actions of a commit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.unit.log_builder import Actions, Damage, body
from tests.unit.mapped_tables import Json


def protocol(**changes: Any) -> Damage:
    """Other fields in the protocol action; None takes one away."""

    def damage(actions: Actions) -> None:
        _edit(body(actions, "protocol"), changes)

    return damage


def extra_protocol(**listed: Any) -> Damage:
    """A protocol action where there was none to be."""

    def damage(actions: Actions) -> None:
        actions.insert(1, {"protocol": listed})

    return damage


def metadata(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "metaData"), changes)

    return damage


def configured(**changes: Any) -> Damage:
    """Other properties; ``__`` stands for a dot."""

    def damage(actions: Actions) -> None:
        configuration = body(actions, "metaData")["configuration"]
        _edit(configuration, {key.replace("__", "."): value for key, value in changes.items()})

    return damage


def schema(change: Callable[[Json], Any]) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, "metaData")
        parsed = json.loads(wire["schemaString"])
        change(parsed)
        wire["schemaString"] = json.dumps(parsed)

    return damage


def column(of: str, /, **changes: Any) -> Damage:
    """Another field of a column; ``metadata`` are merged, None takes a key away."""

    def change(parsed: Json) -> None:
        wire = column_of(parsed, of)
        _edit(wire["metadata"], changes.get("metadata", {}))
        _edit(wire, {key: value for key, value in changes.items() if key != "metadata"})

    return schema(change)


def column_of(parsed: Json, name: str) -> Json:
    found: Json = next(wire for wire in parsed["fields"] if wire["name"] == name)
    return found


def added(number: int = 0, **changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "add", number), changes)

    return damage


def vector(**changes: Any) -> Damage:
    """Other fields of the deletion vector that the commit adds."""

    def damage(actions: Actions) -> None:
        _edit(body(actions, "add")["deletionVector"], changes)

    return damage


def bound(part: str, name: str, value: Any) -> Damage:
    """Another value of a column in a part of the statistics."""
    return statistics(lambda stats: stats[part].update({name: value}))


def removed(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "remove"), changes)

    return damage


def info(**changes: Any) -> Damage:
    def damage(actions: Actions) -> None:
        _edit(body(actions, "commitInfo"), changes)

    return damage


def marked(configuration: str) -> Damage:
    def damage(actions: Actions) -> None:
        body(actions, "domainMetadata")["configuration"] = configuration

    return damage


def domain(name: str, configuration: str = "{}") -> Json:
    return {"domainMetadata": {"domain": name, "configuration": configuration, "removed": False}}


def extra(action: Json) -> Damage:
    def damage(actions: Actions) -> None:
        actions.append(action)

    return damage


def first(action: Json) -> Damage:
    def damage(actions: Actions) -> None:
        actions.insert(0, action)

    return damage


def twice(kind: str, **changes: Any) -> Damage:
    """The first action of a kind once more, with other fields."""

    def damage(actions: Actions) -> None:
        actions.append({kind: {**body(actions, kind), **changes}})

    return damage


def without(kind: str) -> Damage:
    def damage(actions: Actions) -> None:
        actions[:] = [action for action in actions if kind not in action]

    return damage


def both(*damages: Damage) -> Damage:
    def damage(actions: Actions) -> None:
        for one in damages:
            one(actions)

    return damage


def nothing(actions: Actions) -> None:
    """The commit is a damage by itself."""


def last_first(actions: Actions) -> None:
    actions.append(actions.pop(0))


def statistics(change: Callable[[Json], Any]) -> Damage:
    def damage(actions: Actions) -> None:
        wire = body(actions, "add")
        stats = json.loads(wire["stats"])
        change(stats)
        wire["stats"] = json.dumps(stats)

    return damage


def _edit(wire: Json, changes: Json) -> None:
    for key, value in changes.items():
        if value is None:
            wire.pop(key, None)
        else:
            wire[key] = value
