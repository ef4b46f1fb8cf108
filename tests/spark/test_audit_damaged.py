"""The audit of tables that Delta wrote and somebody damaged: one thing each, named with its commit, and once.

What lies beside the commits was made of them before the damage: where it is left, it contradicts them, and that is
told under the damage.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.report import Finding, Severity, Verdict
from tests.tables import log, row_tracking
from tests.tables.log import Action
from tests.tables.row_tracking import operations

pytestmark = pytest.mark.nightly

ID, NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
MODE, MAX = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
CHANGES = "delta.typeChanges"

#: The commits of the tables, by the version that is damaged.
MAPPED: tuple[Any, dict[str, Any]] = (row_tracking.mapped, {"mode": "name"})
WIDENED: tuple[Any, dict[str, Any]] = (row_tracking.widened, {})
OPERATIONS: tuple[Any, dict[str, Any]] = (operations, {})


def changed(kind: str, **fields: Any) -> Callable[[list[Action]], None]:
    """Other fields in the first action of a kind."""

    def damage(actions: list[Action]) -> None:
        next(action[kind] for action in actions if kind in action).update(fields)

    return damage


def twice(kind: str) -> Callable[[list[Action]], None]:
    def damage(actions: list[Action]) -> None:
        actions.append(next(action for action in actions if kind in action))

    return damage


def configured(**properties: str) -> Callable[[list[Action]], None]:
    def damage(actions: list[Action]) -> None:
        configuration = next(a["metaData"] for a in actions if "metaData" in a)["configuration"]
        configuration.update({key.replace("__", "."): value for key, value in properties.items()})

    return damage


def column(of: str, change: Callable[[Action], Any]) -> Callable[[list[Action]], None]:
    """Change a top-level field of the schema."""

    def damage(actions: list[Action]) -> None:
        body = next(action["metaData"] for action in actions if "metaData" in action)
        schema = json.loads(body["schemaString"])
        change(next(field for field in schema["fields"] if field["name"] == of))
        body["schemaString"] = json.dumps(schema)

    return damage


def lowered(actions: list[Action]) -> None:
    actions.append({"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}})


def mark(value: int) -> Callable[[list[Action]], None]:
    return changed("domainMetadata", configuration=json.dumps({"rowIdHighWaterMark": value}))


#: The table, the version that is damaged, how, the rule, the column, and the rules that may follow from it.
DAMAGES: dict[str, tuple[Any, int, Callable[[list[Action]], None], str, str | None, set[str]]] = {
    "two metaData actions": (MAPPED, 3, twice("metaData"), "MD03", None, set()),
    "another table id": (MAPPED, 3, changed("metaData", id="0000"), "MD08", None, {"MD08"}),
    "protocol lowered": (OPERATIONS, 2, lowered, "TF12", None, {"RT01", "TF15", "AC05", "AC06", "RT05", "MD28"}),
    "type change unrecorded": (WIDENED, 2, column("id", lambda f: f["metadata"].clear()), "TW09", "id", set()),
    "type changes broken": (
        WIDENED,
        2,
        column("id", lambda f: f["metadata"].update({CHANGES: [{"fromType": "float", "toType": "double"}]})),
        "TW09",
        "id",
        {"TW07"},
    ),
    "type changed by hand": (
        WIDENED,
        2,
        column("pos", lambda f: f.update(type="integer")),
        "TW09",
        "pos",
        set(),
    ),
    "another physical name": (
        MAPPED,
        3,
        column("v 2", lambda f: f["metadata"].update({NAME: "col-0"})),
        "CM11",
        "v 2",
        set(),
    ),
    "mapping switched off": (MAPPED, 3, configured(delta__columnMapping__mode="none"), "CM09", "id", {"CM08"}),
    "maxColumnId too low": (MAPPED, 3, configured(delta__columnMapping__maxColumnId="2"), "CM10", None, {"CM07"}),
    "baseRowId given again": (OPERATIONS, 2, changed("add", baseRowId=0), "RT15", None, {"RT08", "RT12", "RT14"}),
    "high water mark lowered": (OPERATIONS, 2, mark(3), "RT11", None, {"RT07", "RT08", "RT15"}),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_told_once(table: Any, audit: Any, name: str) -> None:
    (builder, arguments), version, damage, code, about, follows = DAMAGES[name]
    path = table(builder, **arguments)
    with log.rewritten(path, version) as actions:
        damage(actions)
        info: Action = next(action["commitInfo"] for action in actions if "commitInfo" in action)
    report = audit(path)
    found = [f for f in report.findings if (f.code, f.severity) != ("MD08", Severity.WARNING)]
    roots = [finding for finding in found if finding.caused_by is None]
    assert [(f.code, f.version, f.column) for f in roots] == [(code, version, about)]
    assert (roots[0].operation, roots[0].engine) == (info["operation"], "Apache-Spark/4.2.0 Delta-Lake/4.4.0")
    assert (roots[0].action or "").startswith('{"')
    assert consequences(found, roots[0]) <= {*follows, "LG08"}
    beside = {finding.version for finding in found if finding.code == "LG08"}
    assert min(beside, default=version) >= version


def consequences(findings: list[Finding], root: Finding) -> set[str]:
    follow = [finding for finding in findings if finding is not root]
    assert {finding.caused_by for finding in follow} <= {root.fingerprint}
    return {finding.code for finding in follow}


@pytest.mark.parametrize("kind", ["protocol", "metaData"])
def test_checkpoint_and_checksums_that_were_made_before_the_damage_follow_from_it(
    spark: SparkSession, table: Any, audit: Any, kind: str
) -> None:
    path = table(row_tracking.widened)
    checkpoint(spark, path)
    assert audit(path).verdict is Verdict.PASS
    with log.rewritten(path, 3) as actions:
        if kind == "protocol":
            lowered(actions)
        else:
            actions.append({"metaData": {**log.last(path, "metaData"), "id": "another"}})
    findings = audit(path).findings
    (root,) = (finding for finding in findings if finding.caused_by is None)
    assert (root.code, root.version) == ("TF12" if kind == "protocol" else "MD08", 3)
    assert {"LG07", "LG08"} <= consequences(findings, root)


def checkpoint(spark: SparkSession, path: Path) -> None:
    """Let Delta write a checkpoint of the newest version."""
    jvm: Any = spark._jvm
    delta_log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    delta_log.checkpoint(delta_log.update(False, none, none), none)


def test_type_changes_that_a_later_commit_loses_stand_until_they_are_back(table: Any, audit: Any) -> None:
    path = table(row_tracking.widened_in_place)
    sound = log.last(path, "metaData")
    lost: list[Action] = [{"commitInfo": {"operation": "SET TBLPROPERTIES"}}, {"metaData": dict(sound)}]
    column("id", lambda field: field["metadata"].clear())(lost)
    version = log.commit(path, *lost)
    assert [(f.code, f.version, f.column, f.healed_version) for f in audit(path).findings] == [
        ("TW12", version, "id", None)
    ]
    log.commit(path, {"commitInfo": {"operation": "SET TBLPROPERTIES"}}, {"metaData": sound})
    report = audit(path)
    assert report.verdict is Verdict.PASS
    assert [(f.code, f.version, f.healed_version) for f in report.findings] == [("TW12", version, version + 1)]


def test_type_changes_may_be_forgotten_once_all_files_were_rewritten(table: Any, audit: Any) -> None:
    path = table(row_tracking.widened)
    forgotten: list[Action] = [
        {"commitInfo": {"operation": "SET TBLPROPERTIES"}},
        {"metaData": dict(log.last(path, "metaData"))},
    ]
    column("id", lambda field: field["metadata"].clear())(forgotten)
    log.commit(path, *forgotten)
    assert audit(path).findings == ()


@pytest.mark.soak
@pytest.mark.parametrize("level", ["log", "footers", "data"])
@pytest.mark.parametrize("name", DAMAGES)
def test_damage_after_an_audit_is_told_as_in_one_of_the_whole(
    table: Any, audit: Any, tmp_path: Path, name: str, level: str
) -> None:
    (builder, arguments), version, damage, *_ = DAMAGES[name]
    path = table(builder, **arguments)
    with log.rewritten(path, version) as actions:
        damage(actions)
    whole = {(f.code, f.severity, f.version, f.fingerprint) for f in audit(path, level=level).findings if f.is_open}
    for cut in (0, version - 1, version):
        memory = str(tmp_path / f"memory-{cut}")
        later = tmp_path / f"later-{cut}"
        later.mkdir()
        files = [file for file in path.joinpath("_delta_log").glob("[0-9]*.*") if int(file.name[:20]) > cut]
        moved = [(file, file.rename(later / file.name)) for file in files]
        audit(path, level=level, state_path=memory)
        for file, aside in moved:
            aside.rename(file)
        report = audit(path, level=level, state_path=memory)
        assert {(f.code, f.severity, f.version, f.fingerprint) for f in report.findings if f.is_open} == whole
