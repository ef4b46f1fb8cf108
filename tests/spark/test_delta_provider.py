"""``delta-provider`` on Spark, in the session of the tests: changes, names in a catalog, and settings of a session."""

from __future__ import annotations

import json
import re

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.jobs.spark import session as session_module
from scripts.sample_blocks import CHECKOUT
from tests.tables import broken_logs, log
from tests.tables.protocols import legacy
from tests.tables.widening import flat


def tables(capsys):
    return {table["table"]: table for table in json.loads(capsys.readouterr().out)["tables"]}


def test_change_is_planned_refused_and_made(session, table, capsys):
    path = table(flat, enabled=False)
    words = ["widen-types", str(path), "--column", "q=bigint", "--enable-type-widening", "--format", "json"]
    before = log.contents(path)
    assert main(words) == 3
    allowed = [*words, "--allow-protocol-upgrade"]
    assert main([*allowed, "--dry-run"]) == 0
    assert log.contents(path) == before
    capsys.readouterr()
    assert main(allowed) == 0
    assert tables(capsys)[str(path)]["changed"]


@pytest.mark.parametrize("level", ["log", "footers"])
def test_both_engines_say_the_same(level, session, table, capsys):
    paths = [str(table(legacy, "good")), str(table(broken_logs.gap, "gap"))]
    found = []
    for engine in ("spark", "python"):
        assert main(["audit", *paths, "--level", level, "--engine", engine, "--format", "json"]) == 1
        reports = tables(capsys)
        found.append([(name, reports[name]["verdict"], reports[name]["findings"]) for name in paths])
    assert found[0] == found[1]


@pytest.mark.parametrize("engine", ["spark", "python"])
def test_relative_names_start_at_the_folder_of_the_configuration(engine, session, table, capsys, monkeypatch):
    path = table(legacy, "good")
    (path.parent / "delta-provider.toml").write_text('tables = ["./g*"]\nstate_path = "audits"\n')
    monkeypatch.chdir(path)
    for words in ([], ["."], ["../g*"]):
        assert main(["audit", *words, "--engine", engine, "--format", "json"]) == 0
        assert list(tables(capsys)) == ["./good"]
    assert (path.parent / "audits").is_dir()


def test_tables_of_a_schema_are_found_in_the_catalog(session, table, capsys):
    path = table(legacy)
    session.sql("CREATE SCHEMA command_line")
    try:
        session.sql(f"CREATE TABLE command_line.orders USING delta LOCATION '{path}'")
        assert main(["audit", "command_line.*", "--exclude", "*.none", "--format", "json"]) == 0
        assert list(tables(capsys)) == ["command_line.orders"]
        assert main(["audit", "command_line.*", "--exclude", "*.orders"]) == 2
        assert main(["audit", "command_line.none*"]) != 0
    finally:
        session.sql("DROP SCHEMA command_line CASCADE")


def test_settings_reach_a_session_that_is_started(monkeypatch):
    built = {}

    class Builder:
        def __getattr__(self, name):
            return lambda *given: built.update([given] if len(given) == 2 else []) or self

    class Session:
        builder = Builder()

        @staticmethod
        def getActiveSession():
            return None

    monkeypatch.setattr(session_module, "SparkSession", Session)
    monkeypatch.setattr(session_module, "platform_defaults", lambda: {"spark.jars.packages": "of:the:platform"})
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    given = {"spark.jars.packages": "a:b:1", "spark.ui.enabled": "true", "spark.other": "x"}
    session_module.own_session("tests", "local[2]", "packages", given)
    packages = built["spark.jars.packages"].split(",")
    assert (packages[0], built["spark.ui.enabled"], built["spark.other"]) == ("a:b:1", "true", "x")
    assert any(package.startswith("io.delta:") for package in packages)


@pytest.mark.parametrize("piece", ["RESTORE TABLE", ".restore("])
def test_restore_of_the_guide_goes_back(piece, spark, tmp_path):
    """The pieces of the guide name /lake/flights and version 2."""
    pytest.importorskip("deltalake")
    guide = (CHECKOUT / "docs" / "guides" / "audit.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", guide, re.DOTALL) if piece in block)
    path = tmp_path / "flights"
    for number in range(4):
        spark.range(number, number + 1).coalesce(1).write.format("delta").mode("append").save(str(path))
    exec(compile(code.replace("/lake/flights", str(path)), "audit.md", "exec"), {})
    assert sorted(row["id"] for row in spark.read.format("delta").load(str(path)).collect()) == [0, 1, 2]
