"""Every kind of job with another release: done, or refused with nothing changed, saying which release can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.domain.engine.spark_library import Version
from airflow_delta_provider.domain.report.report import TableReport, Verdict
from airflow_delta_provider.domain.request.change_options import WidenTypesOptions
from airflow_delta_provider.domain.request.kinds import KINDS
from tests.engines.pair import Pair
from tests.engines.submitted import Script
from tests.every_kind import REQUESTS
from tests.tables import log
from tests.tables.paimon.archive import table_of, unpack

#: The first releases that do the requests of these kinds.
SINCE: dict[str, Version] = {"widen-types": (4, 0), "drop-feature": (4, 0)}
CHECKED = "TBLPROPERTIES ('delta.feature.checkConstraints' = 'supported')"
#: Columns by their types, what each is widened to, and the first release that does.
WIDENINGS: tuple[tuple[str, str, str, Version], ...] = (
    ("tinyint", "", "smallint", (3, 3)),
    ("tinyint", "", "int", (3, 3)),
    ("smallint", "", "int", (3, 3)),
    ("array<smallint>", ".element", "int", (3, 3)),
    ("map<string,struct<n:tinyint>>", ".value.n", "smallint", (3, 3)),
    ("int", "", "bigint", (4, 0)),
    ("smallint", "", "decimal(12,1)", (4, 0)),
    ("float", "", "double", (4, 0)),
    ("date", "", "timestamp_ntz", (4, 0)),
    ("decimal(5,2)", "", "decimal(8,3)", (4, 0)),
)


def of_release(pair: Pair, report: TableReport, since: Version) -> bool:
    """Check that a report is what a release has to say, and return whether it could do what was asked."""
    said = [(finding.code, finding.message) for finding in report.findings]
    if pair.line >= since:
        assert (report.verdict, said) == (Verdict.PASS, [])
        return True
    assert (report.verdict, report.changed, {code for code, _ in said}) == (Verdict.REFUSED, False, {"RQ05"}), said
    for _, message in said:
        assert f"Delta {pair.delta} on Spark {pair.spark}" in message
        assert f"Use Delta {'.'.join(map(str, since))} or later" in message
    return False


def test_every_kind_of_job_is_done_or_refused_with_the_release_that_can(
    pair: Pair, tmp_path: Path, record_property: Callable[[str, Any], None]
) -> None:
    orders, mapped, new = tmp_path / "orders", tmp_path / "mapped", tmp_path / "new"
    paimon = table_of(unpack(tmp_path), "big/w1/06_delete")
    tables = {
        "check-paimon-row-tracking": paimon,
        "column-mapping-usage": mapped,
        "disable-column-mapping": mapped,
        "alter-columns": mapped,
        "create-table": new,
    }
    script = Script()
    for path, first, then in (
        (orders, "'delta.enableRowTracking' = 'true'", "'delta.feature.checkConstraints' = 'supported'"),
        (mapped, "'delta.feature.columnMapping' = 'supported'", "'delta.columnMapping.mode' = 'name'"),
    ):
        script.sql(f"CREATE TABLE delta.`{path}` (id int, quantity int) USING delta TBLPROPERTIES ({first})")
        for number in range(3):
            script.sql(f"INSERT INTO delta.`{path}` VALUES ({number}, 1)")
        script.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({then})")
    script.sql(f"UPDATE delta.`{orders}` SET quantity = 2 WHERE id = 1")
    known: dict[str, dict[str, Any]] = {
        "check-row-tracking": {"compare_to_version": 3, "key_columns": ("id",)},
        "check-compatibility": {"columns": {}, "features": ("appendOnly",)},
        "enable-feature": {"allow_protocol_upgrade": True},
    }
    places = {
        kind: script.request(tables.get(kind, orders), replace(options, **known.get(kind, {})))
        for kind, options in REQUESTS.items()
    }

    results = script.run(pair, tmp_path)

    assert places.keys() == KINDS.keys()
    refused = [kind for kind, at in places.items() if not of_release(pair, results.report(at), SINCE.get(kind, ()))]
    assert log.fields(orders)["quantity"]["type"] == ("integer" if "widen-types" in refused else "long")
    record_property("refused", "; ".join(refused))


def test_types_are_widened_as_far_as_the_release_does_and_the_rest_is_refused_by_type_change(
    pair: Pair, tmp_path: Path, record_property: Callable[[str, Any], None]
) -> None:
    path = tmp_path / "t"
    columns = {f"c{number}": each for number, each in enumerate(WIDENINGS)}
    script = Script()
    schema = ", ".join(f"{name} {was}" for name, (was, *_) in columns.items())
    script.sql(f"CREATE TABLE delta.`{path}` ({schema}) USING delta")
    script.sql(f"INSERT INTO delta.`{path}` VALUES ({', '.join('NULL' for _ in columns)})")
    allowed = {"enable_type_widening": True, "allow_protocol_upgrade": True}
    places = {
        name: script.request(path, WidenTypesOptions(columns={f"{name}{inner}": new}, **allowed))
        for name, (_, inner, new, _) in columns.items()
    }
    rows = script.sql(f"SELECT count(*) FROM delta.`{path}`")

    results = script.run(pair, tmp_path)

    done = {name: of_release(pair, results.report(at), columns[name][3]) for name, at in places.items()}
    assert results.rows(rows) == [["1"]]
    if not any(done.values()):
        assert log.newest(path) == 1
    changes = [f"{columns[name][0]} to {columns[name][2]}" for name in columns if not done[name]]
    record_property("refused", "; ".join(f"widening {change}" for change in changes))


def test_releases_that_do_not_fit_are_named_whatever_is_asked_and_nothing_is_changed(
    pair: Pair, tmp_path: Path
) -> None:
    if not pair.spark.startswith("4.1.") or pair.spark == "4.1.0":
        pytest.skip("tried with later releases of Spark 4.1, which Delta 4.1.0, made for the first, does not fit")
    path, script = tmp_path / "t", Script()
    script.sql(f"CREATE TABLE delta.`{path}` (quantity int) USING delta {CHECKED}")
    script.sql(f"INSERT INTO delta.`{path}` VALUES (1)")
    places = {kind: script.request(path, options, dry_run=options.changes) for kind, options in REQUESTS.items()}
    results = script.run(replace(pair, delta="4.1.0"), tmp_path)
    assert log.newest(path) == 1
    reports = {kind: results.report(place) for kind, place in places.items()}
    unfit = {kind for kind, report in reports.items() if report.verdict is Verdict.FAULT}
    assert {"widen-types", "enable-feature"} <= unfit
    for kind in unfit:
        (finding,) = reports[kind].findings
        assert finding.code == "FT02", kind
        assert f"Spark {pair.spark} and this release of Delta Lake do not fit together" in finding.message
