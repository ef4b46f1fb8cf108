"""What ``explain`` and ``rules`` say, and how fast."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.command_line.rules import entries, families
from airflow_delta_provider.domain.checks.registry import FAMILIES, RULES


def test_catalogue_has_every_rule_as_its_checks_define_it():
    assert {
        code: (e.name, e.since, e.title, e.severity, e.remedy, e.effect, e.source) for code, e in entries().items()
    } == {
        code: (rule.name, rule.since, rule.title, rule.severity.value, rule.remedy, rule.effect, rule.source)
        for code, rule in RULES.items()
    }
    assert dict(families()) == {family.prefix: family.title for family in FAMILIES}


def test_explain_says_all_that_is_known_of_a_rule(capsys):
    assert main(["explain", "rt15"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("RT15 row-ids-assigned-twice  ERROR  row ids assigned a second time\n")
    for expected in ("effect", "remedy", "healing", "Fixed by RESTORE", "PROTOCOL.md, Writer Requirements", "requires"):
        assert expected in said
    assert "    since       0.1.0\n" in said
    assert "#writer-requirements-for-row-tracking" in said


@pytest.mark.parametrize("code", RULES)
def test_every_rule_can_be_explained(code, capsys):
    assert main(["explain", code]) == 0
    assert main(["explain", code, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.count(RULES[code].title) >= 2


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_rule_is_explained_by_its_name_as_by_its_code(form, capsys):
    assert main(["explain", "RT15", "--format", form]) == 0
    by_code = capsys.readouterr().out
    assert main(["explain", "Row-Ids-Assigned-Twice", "--format", form]) == 0
    assert capsys.readouterr().out == by_code
    assert "row-ids-assigned-twice" in by_code


def test_several_rules_are_explained_at_once_as_json(capsys):
    assert main(["explain", "RT15", "MD03", "--format", "json"]) == 0
    assert [rule["code"] for rule in json.loads(capsys.readouterr().out)] == ["RT15", "MD03"]


@pytest.mark.parametrize(
    ("mistyped", "nearest"), [("RT155", "RT15"), ("row-id-assigned-twise", "row-ids-assigned-twice")]
)
def test_unknown_rule_is_a_usage_error_that_names_the_nearest(mistyped, nearest, capsys):
    assert main(["explain", mistyped]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert f"There is no rule '{mistyped}'. Did you mean '{nearest}'?" in said.err


def test_rules_are_filtered_by_family_and_severity(capsys):
    assert main(["rules", "--family", "rt", "--severity", "warning", "--format", "json"]) == 0
    listed = {rule["code"] for rule in json.loads(capsys.readouterr().out)}
    assert listed == {code for code, r in RULES.items() if code.startswith("RT") and r.severity.value == "WARNING"}


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_rules_lists_all_of_them(form, capsys):
    assert main(["rules", "--format", form]) == 0
    said = capsys.readouterr().out
    assert [word for code, rule in RULES.items() for word in (code, rule.name) if word not in said] == []


def test_unknown_family_is_a_usage_error(capsys):
    assert main(["rules", "--family", "XX"]) == 2
    assert "There is no family 'XX'." in capsys.readouterr().err


@pytest.mark.parametrize("words", [["explain", "RT15"], ["rules"], ["--help"], ["--version"], ["no-such-command"]])
def test_what_looks_at_no_table_imports_no_checks_no_spark_and_no_airflow(words):
    code = (
        "import sys\nfrom airflow_delta_provider.command_line.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "heavy = ('airflow', 'pyspark', 'py4j', 'pyarrow', 'rich', 'airflow_delta_provider.domain.checks.registry')\n"
        "print([name for name in heavy if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
