"""Commands that work on tables, on real logs, in this process: their result, their exit code, and bad input."""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from airflow_delta_provider.command_line import table_command
from airflow_delta_provider.command_line.engine import EngineUnavailableError
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.command_line.parser import commands
from airflow_delta_provider.domain.rendering.presentation import FORMATS
from airflow_delta_provider.domain.report.report import JobReport
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.jobs.run import tables as tables_module
from tests.unit.command_line.tables import damaged, damaged_again, sound, unreadable

ERROR, OTHER_ERROR, WARNING, UNDECIDED = "AC08", "RT15", "AC27", "LG06"


@pytest.fixture(autouse=True)
def lake(tmp_path, monkeypatch) -> Path:
    """A folder of its own to be in."""
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def report(capsys: pytest.CaptureFixture[str]) -> JobReport:
    return JobReport.from_json(json.loads(capsys.readouterr().out))


def tables(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [table.table for table in report(capsys).tables]


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """Return what was said on standard error: one line, and nothing on standard output."""
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("delta-provider: ")
    return said.err


class TestExitCodes:
    def test_sound_table_ends_with_0(self, lake):
        sound(lake / "t")
        assert main(["audit", "t"]) == 0

    def test_violated_table_ends_with_1(self, lake):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t"]) == 1

    def test_missing_table_is_refused_with_3(self):
        assert main(["audit", "/none"]) == 3

    def test_storage_that_fails_ends_with_4(self, lake):
        unreadable(lake / "t")
        assert main(["audit", "t"]) == 4

    @pytest.mark.parametrize(("flags", "expected"), [((), 0), (("--strict",), 5)])
    def test_undetermined_table_ends_with_5_if_that_is_asked_for(self, flags, expected, lake):
        damaged(lake / "t", UNDECIDED)
        assert main(["audit", "t", *flags]) == expected

    @pytest.mark.parametrize(("fail_on", "expected"), [("error", 0), ("warning", 1), ("never", 0)])
    def test_warnings_fail_if_that_is_asked_for(self, fail_on, expected, lake, capsys):
        damaged(lake / "t", WARNING)
        assert main(["audit", "t", "--fail-on", fail_on, "--format", "json"]) == expected
        assert report(capsys).verdict.value == ("VIOLATED" if expected else "PASS")

    @pytest.mark.parametrize("flags", [("--fail-on", "never"), ("--exit-zero",)])
    def test_violations_can_be_let_pass(self, flags, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--format", "json", *flags]) == 0
        assert report(capsys).verdict.value == "VIOLATED"

    def test_exit_zero_holds_for_refusals_and_faults_and_not_for_usage(self, lake):
        unreadable(lake / "t")
        assert main(["audit", "t", "/none", "--exit-zero"]) == 0
        assert main(["audit", "none*", "--exit-zero"]) == 2

    def test_worst_table_counts_and_hides_no_other(self, lake, capsys):
        sound(lake / "good")
        damaged(lake / "bad", ERROR)
        unreadable(lake / "gone")
        assert main(["audit", "good", "/none", "bad", "gone", "--format", "json"]) == 4
        verdicts = {table.table: table.verdict.value for table in report(capsys).tables}
        assert verdicts == {"./good": "PASS", "/none": "REFUSED", "./bad": "VIOLATED", "./gone": "FAULT"}
        assert main(["audit", "good", "/none", "bad"]) == 3
        assert main(["audit", "good", "bad"]) == 1


class TestTables:
    def test_pattern_finds_tables_at_any_depth_but_not_in_tables_or_hidden_folders(self, lake, capsys):
        for place in ("a", "x/b", "x/y/z/c", "a/inner", "_tmp/d", ".git/e", "x/.f/g"):
            sound(lake / "lake" / place)
        (lake / "lake" / "x" / "file").write_text("")
        assert main(["audit", "lake/**", "--format", "json"]) == 0
        assert tables(capsys) == ["lake/a", "lake/x/b", "lake/x/y/z/c"]

    def test_search_that_takes_long_says_how_far_it_is(self, lake, capsys, monkeypatch):
        for place in ("a", "x/b", "y/z"):
            sound(lake / "lake" / place)
        monkeypatch.setattr(tables_module, "_SECONDS_BETWEEN", -1)
        assert main(["audit", "lake/**"]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert lines[0] == "lake/**: 1 folder listed, 0 tables found so far"
        assert lines[-1] == "lake/**: 6 folders listed, 3 tables found so far"
        assert main(["audit", "lake/**", "-q"]) == 0
        assert capsys.readouterr().err == ""

    def test_links_that_form_a_loop_end(self, lake, capsys):
        sound(lake / "lake" / "a" / "t")
        for number in range(3):
            (lake / "lake" / "a" / f"loop{number}").symlink_to(lake / "lake")
        assert main(["audit", "lake/**", "--format", "json"]) == 0
        assert tables(capsys) == ["lake/a/t"]

    @pytest.mark.parametrize(
        ("pattern", "found"),
        [
            ("**", ["./lake/a", "./lake/x/b"]),
            ("lake/*", ["lake/a"]),
            ("lake/*/b", ["lake/x/b"]),
            ("lake/**/b", ["lake/x/b"]),
            ("lake/**/[ab]", ["lake/a", "lake/x/b"]),
            ("l*", []),
        ],
    )
    def test_patterns(self, pattern, found, lake, capsys):
        sound(lake / "lake" / "a")
        sound(lake / "lake" / "x" / "b")
        assert main(["audit", pattern, "--format", "json"]) == (0 if found else 2)
        if found:
            assert tables(capsys) == found

    @pytest.mark.parametrize("command", ["detail", "column-mapping-usage"])
    def test_other_commands_that_look_at_tables_take_patterns_too(self, command, lake, capsys):
        sound(lake / "lake" / "a")
        sound(lake / "lake" / "b")
        assert main([command, "lake/*", "--format", "json"]) == 0
        assert tables(capsys) == ["lake/a", "lake/b"]

    def test_tables_that_match_twice_are_audited_once(self, lake, capsys):
        sound(lake / "lake" / "a")
        assert main(["audit", "lake/a", "lake/*", f"{lake}/lake/../lake/a", "lake/**", "--format", "json"]) == 0
        assert tables(capsys) == ["lake/a"]

    def test_pattern_that_matches_nothing_is_one_clear_line(self, capsys):
        assert main(["audit", "none/**"]) == 2
        assert "no table matches none/**." in one_line(capsys)

    def test_and_the_other_tables_are_audited(self, lake, capsys):
        sound(lake / "t")
        assert main(["audit", "none/**", "t", "--format", "json"]) == 2
        assert tables(capsys) == ["./t"]
        shutil.rmtree(lake / "t")
        damaged(lake / "t", ERROR)
        assert main(["audit", "none/**", "t"]) == 1

    @pytest.mark.parametrize(
        ("exclude", "left"),
        [
            (("lake/tmp",), ["lake/a", "lake/x/b_tmp"]),
            (("lake/**/tmp",), ["lake/a", "lake/x/b_tmp"]),
            (("*_tmp",), ["lake/a", "lake/tmp/t"]),
            (("lake/x/**", "t"), ["lake/a"]),
            (("nothing",), ["lake/a", "lake/tmp/t", "lake/x/b_tmp"]),
        ],
    )
    def test_tables_can_be_left_out(self, exclude, left, lake, capsys):
        for place in ("a", "tmp/t", "x/b_tmp"):
            sound(lake / "lake" / place)
        flags = [word for pattern in exclude for word in ("--exclude", pattern)]
        assert main(["audit", "lake/**", *flags, "--format", "json"]) == 0
        assert tables(capsys) == left

    def test_leaving_out_every_table_is_a_usage_error(self, lake, capsys):
        sound(lake / "t")
        assert main(["audit", "t", "--exclude", "t"]) == 2
        assert "every table is excluded" in one_line(capsys)

    def test_file_names_tables(self, lake, capsys):
        sound(lake / "a")
        sound(lake / "b c")
        sound(lake / "issue #7 # old")
        (lake / "list").write_text("# tables\n\n  a  \n./b c\n#none\n./issue #7 # old\n", encoding="utf-8")
        assert main(["audit", "@list", "--format", "json"]) == 0
        assert tables(capsys) == ["./a", "./b c", "./issue #7 # old"]

    def test_standard_input_names_tables(self, lake, capsys, monkeypatch):
        sound(lake / "a")
        monkeypatch.setattr(sys, "stdin", io.StringIO("a\n"))
        assert main(["audit", "@-", "--format", "json"]) == 0
        assert tables(capsys) == ["./a"]

    def test_misspelt_path_is_answered_with_the_nearest(self, lake, capsys):
        sound(lake / "lake" / "orders")
        assert main(["audit", "lake/ordrs"]) == 3
        assert "Check the path. Did you mean 'orders'?" in capsys.readouterr().out

    def test_file_that_cannot_be_read_is_a_usage_error(self, lake, capsys):
        assert main(["audit", "@none"]) == 2
        assert "@none: the file cannot be read: No such file or directory." in one_line(capsys)
        (lake / "list").write_bytes(b"\xff")
        assert main(["audit", "@list"]) == 2
        assert "not UTF-8 text" in one_line(capsys)
        (lake / "list").write_text("# nothing\n")
        assert main(["audit", "@list"]) == 2
        assert "name at least one table" in one_line(capsys)

    def test_folder_of_tables_is_refused_with_a_hint(self, lake, capsys):
        sound(lake / "lake" / "a")
        assert main(["audit", "lake"]) == 3
        assert capsys.readouterr().err == "To name all tables below ./lake, write './lake/**'.\n"

    @pytest.mark.parametrize("name", ["lake/*", "lake/a/_delta_log"])
    def test_but_without_one_where_that_would_not_help(self, name, lake, capsys):
        (lake / "lake" / "a" / "_delta_log").mkdir(parents=True)
        assert main(["audit", name]) == 3
        assert capsys.readouterr().err == ""

    def test_flags_have_to_be_written_out(self, lake, capsys):
        sound(lake / "t")
        with pytest.raises(SystemExit, match="2"):
            main(["audit", "t", "--engin", "python"])
        assert "there is no option --engin. Did you mean '--engine'?" in capsys.readouterr().err

    def test_name_that_is_no_text_is_left_out_and_named(self, lake, capsys):
        sound(lake / "lake" / "a")
        sound(Path(os.fsdecode(bytes(lake) + b"/lake/\xff")))
        assert main(["audit", "lake/*", "--format", "json"]) == 2
        said = capsys.readouterr()
        assert [table["table"] for table in json.loads(said.out)["tables"]] == ["lake/a"]
        assert "'lake/\\udcff' is left out: its name is not valid Unicode." in said.err

    def test_what_names_no_table_is_a_usage_error(self, capsys):
        assert main(["audit", "a..b"]) == 2
        assert "is not a catalog name" in one_line(capsys)
        assert main(["audit", "s3://key:secret@bucket/t"]) == 2
        assert "password" in one_line(capsys)


class TestBaseline:
    def test_only_what_is_new_fails(self, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--format", "json", "--output", "old.json"]) == 1
        assert main(["audit", "t", "--baseline", "old.json", "--format", "json"]) == 0
        capsys.readouterr()
        shutil.rmtree(lake / "t")
        damaged_again(lake / "t", OTHER_ERROR, ERROR)
        assert main(["audit", "t", "--baseline", "old.json", "--format", "json"]) == 1
        found = {f.code: f.status.value for table in report(capsys).tables for f in table.findings if f.status}
        assert found[OTHER_ERROR] == "NEW"

    def test_known_findings_are_marked(self, lake, capsys):
        damaged(lake / "t", ERROR)
        main(["audit", "t", "--format", "json", "--output", "old.json"])
        capsys.readouterr()
        damaged(lake / "u", ERROR)
        assert main(["audit", "u", "t", "--baseline", "old.json", "--format", "json"]) == 1
        statuses = {t.table: {f.status.value for f in t.findings if f.status} for t in report(capsys).tables}
        assert statuses == {"./u": {"NEW"}, "./t": {"KNOWN"}}

    @pytest.mark.parametrize("spelling", ["{lake}/t/", "t/../t", "{lake}/../{lake.name}/t", "file://{lake}/t"])
    def test_table_is_known_by_its_place(self, spelling, lake, capsys):
        damaged(lake / "t", ERROR)
        main(["audit", "t", "--format", "json", "--output", "old.json"])
        assert main(["audit", spelling.format(lake=lake), "--baseline", "old.json"]) == 0

    def test_refusals_and_faults_are_never_known(self):
        main(["audit", "/none", "--format", "json", "--output", "old.json"])
        assert main(["audit", "/none", "--baseline", "old.json"]) == 3

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (None, "--baseline old.json: there is no such file."),
            ("", "is not a JSON report"),
            ("[]", "is not a JSON report"),
            ('"text"', "is not a JSON report"),
            ('{"schema_version": 1}', "is not a JSON report"),
            ("{}", "is not a JSON report"),
            ('{"tables": [{"table": "t", "name": "not a report"}]}', "is not a JSON report"),
            ('{"schema_version": 99, "kind": "audit"}', "The report has schema version 99; this provider reads 1."),
        ],
    )
    def test_baseline_that_cannot_be_used_is_a_usage_error(self, content, message, lake, capsys):
        sound(lake / "t")
        if content is not None:
            (lake / "old.json").write_text(content)
        assert main(["audit", "t", "--baseline", "old.json"]) == 2
        assert message in one_line(capsys)

    def test_baseline_of_another_kind_is_a_usage_error(self, lake, capsys):
        sound(lake / "t")
        main(["detail", "t", "--format", "json", "--output", "old.json", "-q"])
        assert main(["audit", "t", "--baseline", "old.json"]) == 2
        assert "--baseline old.json is a report of detail, not of audit." in one_line(capsys)


class TestOutput:
    def test_standard_output_is_only_the_result(self, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--format", "json", "-v"]) == 1
        said = capsys.readouterr()
        assert json.loads(said.out)["kind"] == "audit"
        assert "engine python: only logs and footers are read" in said.err

    def test_nothing_is_said_besides_the_result_unless_it_is_asked_for(self, lake, capsys):
        sound(lake / "t")
        assert main(["audit", "t"]) == 0
        assert capsys.readouterr().err == ""

    def test_result_goes_to_a_file_and_the_totals_to_standard_error(self, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--format", "json", "--output", "r.json"]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        assert said.err.startswith(f"1 table · 1 violated ({ERROR}) · ")
        assert json.loads((lake / "r.json").read_text())["verdict"] == "VIOLATED"
        assert main(["audit", "t", "--output", "r.json", "-q"]) == 1
        assert capsys.readouterr().err == ""

    @pytest.mark.parametrize("form", FORMATS)
    def test_every_format_names_what_is_wrong_and_ends_alike(self, form, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--format", form]) == 1
        assert ERROR in capsys.readouterr().out
        assert main(["audit", "t", "--format", form, "--output", "result"]) == 1
        assert ERROR in (lake / "result").read_text(encoding="utf-8")

    @pytest.mark.parametrize("flag", ["--output", "--report"])
    @pytest.mark.parametrize("place", ["none/r.json", "."])
    def test_output_that_cannot_be_written_is_found_before_anything_is_done(self, place, flag, lake, capsys):
        sound(lake / "t")
        assert main(["audit", "t", flag, place]) == 2
        assert f"{flag} {place}: " in one_line(capsys)

    def test_report_that_cannot_be_written_fails_also_where_no_finding_does(self, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--exit-zero", "--report", "/dev/full"]) == 4
        assert "the report could not be written to /dev/full" in capsys.readouterr().err

    def test_the_report_is_written_besides_what_is_shown(self, lake, capsys):
        damaged(lake / "t", ERROR)
        assert main(["audit", "t", "--report", "r.json"]) == 1
        assert ERROR in capsys.readouterr().out
        assert json.loads((lake / "r.json").read_text())["verdict"] == "VIOLATED"

    def test_tables_may_be_named_by_a_flag(self, lake, capsys):
        sound(lake / "t")
        sound(lake / "u")
        assert main(["detail", "u", "--table", "t", "--format", "json"]) == 0
        assert [Path(table["table"]).name for table in json.loads(capsys.readouterr().out)["tables"]] == ["u", "t"]

    @pytest.mark.parametrize(
        ("variables", "coloured"),
        [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)],
    )
    def test_colours_are_for_terminals(self, variables, coloured, lake, capsys, monkeypatch):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        sound(lake / "t")
        main(["audit", "t"])
        assert ("\x1b[" in capsys.readouterr().out) is coloured

    def test_a_file_has_no_colours(self, lake, monkeypatch):
        monkeypatch.setenv("FORCE_COLOR", "1")
        sound(lake / "t")
        main(["audit", "t", "--output", "r.txt"])
        assert "\x1b[" not in (lake / "r.txt").read_text()


class TestEngine:
    @pytest.mark.parametrize(
        ("words", "why"),
        [
            (["audit", "t", "--level", "data"], "audit reads rows with these options, which needs Spark."),
            (["check-row-tracking", "t"], "check-row-tracking reads rows with these options, which needs Spark."),
            (["audit", "sales.orders"], "sales.orders is a name in a catalog"),
            (["drop-feature", "t", "--feature", "typeWidening"], "drop-feature changes tables, which needs Spark."),
        ],
    )
    def test_what_takes_spark_is_refused_to_the_engine_without_it(self, words, why, lake, capsys):
        sound(lake / "t")
        assert main([*words, "--engine", "python"]) == 2
        assert why in one_line(capsys)

    @pytest.mark.parametrize(
        ("words", "variables", "engine", "why"),
        [
            (["audit", "t"], {}, "python", "only logs and footers are read"),
            (["audit", "t"], {"PYSPARK_GATEWAY_PORT": "1"}, "spark", "spark-submit runs this"),
            (["audit", "t", "--engine", "python"], {"PYSPARK_GATEWAY_PORT": "1"}, "python", "as asked for"),
            (["audit", "t", "--engine", "spark"], {}, "spark", "as asked for"),
            (["audit", "t", "--packages", "a:b:1"], {}, "spark", "--packages is given"),
            (["audit", "nothing-has://it/t"], {}, "spark", "nothing here reads nothing-has:// without Spark"),
            (["check-row-tracking", "t"], {}, "spark", "check-row-tracking reads rows with these options"),
        ],
    )
    def test_engine_is_chosen_and_said_with_the_reason(self, words, variables, engine, why, lake, capsys, monkeypatch):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        sound(lake / "t")
        monkeypatch.setattr(table_command, "opened", _nothing_opened)
        assert main([*words, "-v"]) == 4
        assert f"engine {engine}: {why}" in capsys.readouterr().err.splitlines()[0]

    @pytest.mark.parametrize("words", [["audit", "t", "--level", "data"], ["audit", "t", "--conf", "a=b"]])
    @pytest.mark.parametrize("package", ["pyspark", "py4j"])
    def test_spark_that_is_not_there_is_one_clear_line(self, package, words, lake, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, package, None)
        sound(lake / "t")
        assert main(words) == 4
        assert "PySpark is not installed" in one_line(capsys)

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            (("--conf", "a"), "--conf a is not KEY=VALUE."),
            (("--master", "spark:/host"), "--master: The Spark master 'spark:/host' is malformed"),
            (("--rule", "AC8"), "--rule names 'AC8', which is not a rule. Did you mean "),
            (("--since-version", "4", "--version", "3"), "--since-version is 4, which is after --version 3."),
        ],
    )
    def test_flags_that_make_no_sense_are_usage_errors(self, flags, message, lake, capsys):
        sound(lake / "t")
        assert main(["audit", "t", *flags]) == 2
        assert message in one_line(capsys)


class TestStores:
    @pytest.fixture(autouse=True)
    def store(self, lake):
        """A filesystem of fsspec with tables."""
        filesystem = pytest.importorskip("fsspec").filesystem("memory")
        sound(lake / "a")
        damaged(lake / "x" / "b", ERROR)
        filesystem.put(f"{lake}/", "/store/", recursive=True)
        yield
        filesystem.rm("/store", recursive=True)

    def test_tables_are_found_and_reports_are_written_and_read(self, capsys):
        assert main(["audit", "memory://store/**", "--format", "json", "--output", "memory://store/r.json"]) == 1
        assert capsys.readouterr().err.endswith(" · memory://store/r.json\n")
        assert main(["audit", "memory://store/**", "--baseline", "memory://store/r.json", "--format", "json"]) == 0
        assert tables(capsys) == ["memory://store/a", "memory://store/x/b"]

    def test_missing_baseline_is_a_usage_error(self, capsys):
        assert main(["audit", "memory://store/a", "--baseline", "memory://store/none.json"]) == 2
        assert "--baseline memory://store/none.json: there is no such file." in one_line(capsys)

    def test_storage_that_nothing_here_reads_is_a_fault_and_hides_no_other(self, capsys):
        words = ["audit", "memory://store/a", "none-has://it/**", "--engine", "python", "--format", "json"]
        assert main(words) == 4
        verdicts = {table.table: table.verdict.value for table in report(capsys).tables}
        assert verdicts == {"memory://store/a": "PASS", "none-has://it/**": "FAULT"}


class TestConfiguration:
    def test_tables_and_all_else_come_from_the_file(self, lake, capsys):
        damaged(lake / "lake" / "a", ERROR)
        damaged(lake / "lake" / "b", WARNING)
        sound(lake / "lake" / "c_tmp")
        (lake / "delta-provider.toml").write_text(
            'tables = ["lake/**", { table = "lake/a", owner = "sales", severities = { AC08 = "warning" } }]\n'
            'exclude = ["*_tmp"]\nfail_on = "warning"\nstate_path = "lake/_audits"\n'
            '[[waivers]]\ncode = "AC27"\nowner = "me"\nreason = "known"\nexpires = 2999-01-01\n'
        )
        assert main(["audit", "--format", "json"]) == 1
        found = {t.table: (t.verdict.value, [f.waiver is not None for f in t.findings]) for t in report(capsys).tables}
        assert found == {"lake/a": ("VIOLATED", [False]), "lake/b": ("PASS", [True])}
        assert len(list((lake / "lake" / "_audits").iterdir())) == 2
        assert main(["audit", "--fail-on", "error", "--format", "json"]) == 0
        assert main(["audit", "lake/a", "--no-config"]) == 1

    def test_flags_that_select_do_without_the_saved_state_of_the_file(self, lake):
        sound(lake / "t")
        (lake / "delta-provider.toml").write_text('state_path = "audits"\n')
        assert main(["audit", "t", "--rule", ERROR]) == 0
        assert not (lake / "audits").exists()

    def test_file_is_found_above_and_can_be_named(self, lake, capsys, monkeypatch):
        sound(lake / "t")
        (lake / "pyproject.toml").write_text('[tool.delta-provider]\ntables = ["./t"]\n')
        (lake / "below").mkdir()
        monkeypatch.chdir(lake / "below")
        assert main(["detail", "--format", "json"]) == 0
        assert tables(capsys) == ["./t"]
        (lake / "below" / "delta-provider.toml").write_text("")
        assert main(["detail", "--config", "../pyproject.toml"]) == 0
        assert main(["detail"]) == 2

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("tabels = []", "delta-provider.toml, line 1: unknown key 'tabels'. Did you mean 'tables'?"),
            ('tables = ["t"]\n[[waivers]]\ncode = "AC27"', "delta-provider.toml: waivers: entry 1 has no owner."),
            (
                'tables = [{ table = "t", severities = { AC99 = "off" } }]',
                "delta-provider.toml: tables: t weighs 'AC99'.",
            ),
        ],
    )
    def test_file_that_makes_no_sense_is_one_clear_line(self, text, message, lake, capsys):
        (lake / "delta-provider.toml").write_text(text)
        assert main(["audit", "t"]) == 2
        assert message in one_line(capsys)

    def test_a_change_takes_no_tables_from_the_file(self, lake, capsys):
        (lake / "delta-provider.toml").write_text('tables = ["t"]\n')
        assert main(["drop-feature", "--feature", "typeWidening"]) == 2
        assert "name the table to change" in one_line(capsys)


def _nothing_opened(*_: object, **__: object) -> NoReturn:
    raise EngineUnavailableError("not here")


@pytest.mark.parametrize("flags", [(), ("-v",)])
def test_error_that_nobody_foresaw_is_one_line_and_a_traceback_on_demand(flags, capsys, monkeypatch):
    monkeypatch.setattr(os, "getcwd", lambda: 1 / 0)
    assert main(["audit", "t", *flags]) == 4
    said = capsys.readouterr().err
    assert said.startswith(
        "delta-provider: unexpected ZeroDivisionError: division by zero. Report it: this is a bug.\n"
    )
    assert ("Traceback" in said) is bool(flags)


def test_there_is_a_command_for_every_kind():
    assert set(commands().values()) == set(KINDS.values())


def test_unknown_command_is_one_clear_line_that_names_the_nearest(capsys):
    assert main(["audits", "t"]) == 2
    assert "there is no command 'audits'. Did you mean 'audit'?" in one_line(capsys)


def test_flags_may_stand_between_tables(lake, capsys):
    for name in ("a", "b"):
        sound(lake / name)
    assert main(["audit", "a", "--format", "json", "b"]) == 0
    assert tables(capsys) == ["./a", "./b"]


def test_changes_take_no_pattern(capsys):
    assert main(["drop-feature", "lake/*", "--feature", "typeWidening"]) == 2
    assert "is a pattern, which this kind of job does not accept" in one_line(capsys)


class TestSpecs:
    def test_tables_are_those_that_the_specs_name(self, lake, capsys):
        sound(lake / "t")
        (lake / "specs").mkdir()
        (lake / "specs" / "t.yaml").write_text(f"table: {lake}/t\ncomment: Orders\n")
        assert main(["check-drift", "--spec", "specs", "--format", "json"]) == 1
        (table,) = report(capsys).tables
        assert [finding.code for finding in table.findings] == ["DR17"]

    def test_a_table_without_a_spec_is_one_line(self, lake, capsys):
        sound(lake / "t")
        (lake / "s.yaml").write_text(f"{{table: {lake}/t, comment: x}}")
        assert main(["check-drift", "./other", "--spec", "s.yaml"]) == 2
        assert "--spec has nothing for './other'" in one_line(capsys)
