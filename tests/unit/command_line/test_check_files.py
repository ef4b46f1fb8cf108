"""The command ``check-files``: each kind of file, wrong in a line of its own, and sound."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from airflow_delta_provider.command_line.main import main

SOUND = {
    "spec.yaml": "table: lake/a\ncolumns: [{name: id, type: int}]\n",
    "specs.json": '{"tables": [{"table": "a/b", "columns": [{"name": "id", "type": "int"}]}]}',
    "policy.yaml": "tables:\n  - table: 's3://lake/*'\n    approve_without_asking: [no_errors]\n",
    "fleet.yaml": "engines:\n  - {engine: Trino, version: '470', writes: true}\n",
    "waivers.yaml": "- {code: RT15, owner: me, reason: old, expires: 2027-01-01}\n",
    "owners.yaml": "- {table: 'lake/*', owner: sales, severities: {RT15: warning}}\n",
    "delta-provider.toml": 'tables = ["lake/*"]\npolicy = "policy.yaml"\nfleet = "fleet.yaml"\n',
}
WRONG = [
    ("spec.yaml", "table: a/b\ncolumns:\n  - {name: id, type: bigintt}\n", ":3:22: columns[0].type: 'bigintt'"),
    (
        "spec.json",
        '{"table": "a/b",\n "columns": [{"name": "id", "typ": "int"}]}',
        ":2:29: columns[0].typ: unknown key 'typ'",
    ),
    ("spec.json", '{"table": "a/b",\n', ":2:1: it is not JSON"),
    ("spec.yaml", "a: b: c", ":1:5: it is not YAML"),
    ("policy.yaml", "tables:\n  - table: a\n    error: [RT15]\n  - table: b\n    error: [RT99]\n", ":5:5: error of b"),
    ("policy.yaml", "tabels: []\nwaivers: []\n", ":1:1: the policy has the unknown key 'tabels'"),
    (
        "policy.yaml",
        "waivers:\n- {code: RT15, owner: x, reason: y, expires: 2030-01-01}\n- {code: RT15, owner: x}\n",
        ":3:3: entry 2 has no reason",
    ),
    ("fleet.yaml", "engines:\n  - nam: x\n", ":2:5: engines[0]: it has the unknown key 'nam'"),
    ("waivers.yaml", "- code: RT15\n  owner: me\n  reason: x\n  expires: soon\n", ":4:3: entry 1 expires 'soon'"),
    ("owners.yaml", "- owner: me\n  table: a\n- {table: b, ownr: x}\n", ":3:14: b has 'ownr'. Did you mean 'owner'?"),
    ("delta-provider.toml", 'tables = ["a/b"]\nlevl = "data"\n', ":2: unknown key 'levl'. Did you mean 'level'?"),
    ("delta-provider.toml", 'tables = ["a"\nlevel = "log"\n', ":2:1: Unclosed array"),
    ("delta-provider.toml", 'policy = "none.yaml"', "none.yaml: the file cannot be read: No such file"),
    ("delta-provider.toml", '[[waivers]]\ncode = "RT15"\n', ": entry 1 has no owner"),
    ("empty.yaml", "", "empty.yaml"),
]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_sound_files_of_all_kinds_pass(folder, capsys):
    for name, text in SOUND.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert main(["check-files", *SOUND]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "7 files · 0 problems\n")


@pytest.mark.parametrize(("name", "text", "expected"), WRONG, ids=[f"{name} {said}" for name, _, said in WRONG])
def test_problem_has_its_file_line_and_column(folder, capsys, name, text, expected):
    (folder / name).write_text(text, encoding="utf-8")
    assert main(["check-files", name, "-q"]) == 2
    said = capsys.readouterr()
    assert expected in said.out
    assert said.out.count("\n") == 1
    assert said.err == ""


def test_kind_can_be_named_if_the_content_does_not_show_it(folder, capsys):
    (folder / "x.yaml").write_text("tables: [{table: a/b}]", encoding="utf-8")
    assert main(["check-files", "--policy", "x.yaml"]) == 0
    assert main(["check-files", "--waivers", "x.yaml"]) == 2
    assert "they have to be a list of entries" in capsys.readouterr().out


def test_two_files_declare_one_table(folder, capsys):
    (folder / "tables").mkdir()
    for name in ("a.yaml", "b.yaml"):
        (folder / "tables" / name).write_text(SOUND["spec.yaml"], encoding="utf-8")
    assert main(["check-files", "tables"]) == 2
    assert capsys.readouterr().out == "tables/b.yaml: 'lake/a' has a spec already: tables/a.yaml.\n"


def test_formats_for_programs(folder, capsys):
    (folder / "fleet.yaml").write_text("engines:\n  - nam: x\n", encoding="utf-8")
    assert main(["check-files", "fleet.yaml", "--format", "github"]) == 2
    assert capsys.readouterr().out.startswith("::error file=fleet.yaml,line=2,col=5::engines[0]: it has the unknown")
    assert main(["check-files", "fleet.yaml", "--format", "json"]) == 2
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["file"], found["line"], found["column"]) == ("fleet.yaml", 2, 5)


def test_problem_is_no_command_of_a_ci(folder, capsys):
    (folder / "::error x.yaml").write_text("a: b: c", encoding="utf-8")
    assert main(["check-files", "::error x.yaml"]) == 2
    assert not capsys.readouterr().out.startswith("::")


def test_json_needs_no_pyyaml_and_yaml_says_so(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    (folder / "specs.json").write_text(SOUND["specs.json"], encoding="utf-8")
    (folder / "spec.yaml").write_text(SOUND["spec.yaml"], encoding="utf-8")
    assert main(["check-files", "specs.json"]) == 0
    assert main(["check-files", "spec.yaml"]) == 2
    assert "spec.yaml: reading YAML needs PyYAML: pip install PyYAML" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["none.yaml"], ["--fromat", "json"]])
def test_mistakes_on_the_command_line(words, capsys):
    try:
        code = main(["check-files", *words])
    except SystemExit as exit:
        code = exit.code
    assert code == 2
    said = capsys.readouterr()
    assert "name at least one file" in said.err or "No such file" in said.out or "Did you mean '--format'?" in said.err
