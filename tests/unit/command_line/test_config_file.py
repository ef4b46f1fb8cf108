"""Reading the configuration file."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_delta_provider.command_line.invocation import find_config, read_config
from airflow_delta_provider.domain.request.config_file import Config, ConfigError, Spark, parse_config

WHOLE = """
tables = ["s3://lake/**", { table = "s3://lake/orders", owner = "sales", severities = { MD03 = "warning" } }]
exclude = ["s3://lake/tmp/**", "*_tmp"]
state_path = "s3://ops/audits"
fail_on = "warning"
level = "footers"
engine = "python"
rules_page = "https://docs.example.com/rules.html"
strict = true

[[waivers]]
code = "MD03"
owner = "sales"
reason = "known"
expires = 2030-01-31

[storage]
region = "eu-central-1"
retries = 3

[spark]
master = "local[2]"
packages = ["org.example:one:1"]

[spark.conf]
"spark.sql.shuffle.partitions" = 4
spark.ui.enabled = false
"""


def written(folder: Path, text: str, name: str = "delta-provider.toml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_everything_that_a_file_may_say_is_read(tmp_path):
    path = written(tmp_path, WHOLE)
    config = read_config(path)
    waiver = {key: str(value) for key, value in config.waivers[0].items()}
    assert waiver == {"code": "MD03", "owner": "sales", "reason": "known", "expires": "2030-01-31"}
    assert config == Config(
        tables=("s3://lake/**", "s3://lake/orders"),
        ownership=({"table": "s3://lake/orders", "owner": "sales", "severities": {"MD03": "warning"}},),
        exclude=("s3://lake/tmp/**", "*_tmp"),
        waivers=config.waivers,
        state_path="s3://ops/audits",
        fail_on="warning",
        level="footers",
        engine="python",
        strict=True,
        rules_page="https://docs.example.com/rules.html",
        storage={"region": "eu-central-1", "retries": "3"},
        spark=Spark(
            "local[2]", ("org.example:one:1",), {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
        ),
        name=str(path),
    )


def test_pyproject_holds_the_same_in_a_table(tmp_path):
    text = '[project]\nname = "x"\n\n[tool.delta-provider]\ntables = ["/lake/a"]\nspark.master = "m"\n'
    config = read_config(written(tmp_path, text, "pyproject.toml"))
    assert (config.tables, config.spark.master) == (("/lake/a",), "m")


def test_files_start_at_the_folder_of_the_file_and_tables_are_as_written(tmp_path, monkeypatch):
    path = written(
        tmp_path,
        'tables = ["./lake/**", "catalog.sales.*", "/abs"]\nexclude = ["lake/tmp", "x*"]\nstate_path = "s"\n'
        'policy = "policy.yaml"\nfleet = "/ops/fleet.yaml"\n',
    )
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    config = read_config(path)
    assert config.tables == ("./lake/**", "catalog.sales.*", "/abs")
    assert config.exclude == ("lake/tmp", "x*")
    assert config.state_path == f"{tmp_path}/s"
    assert (config.policy, config.fleet) == (f"{tmp_path}/policy.yaml", "/ops/fleet.yaml")
    monkeypatch.chdir(tmp_path)
    assert read_config(path).tables == ("./lake/**", "catalog.sales.*", "/abs")


def test_folder_of_a_linked_file_is_that_of_the_link(tmp_path, monkeypatch):
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "delta-provider.toml").symlink_to(written(tmp_path / "mounted", 'state_path = "audits"\n'))
    monkeypatch.chdir(tmp_path / "lake")
    assert read_config(Path("delta-provider.toml")).state_path == "audits"
    monkeypatch.chdir(tmp_path)
    assert read_config(Path("lake/delta-provider.toml")).state_path == f"{tmp_path}/lake/audits"


def test_nearest_file_upwards_is_found(tmp_path):
    deep = tmp_path / "a" / "b" / "c"
    deep.mkdir(parents=True)
    assert find_config(deep) is None
    outer = written(tmp_path, "[tool.delta-provider]\n", "pyproject.toml")
    assert find_config(deep) == outer
    written(tmp_path / "a", "[tool.other]\nnote = 'delta-provider'\n", "pyproject.toml")
    assert find_config(deep) == outer
    inner = written(tmp_path / "a" / "b", "")
    assert find_config(deep) == inner


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('tabels = ["a"]', "line 1: unknown key 'tabels'. Did you mean 'tables'?"),
        ('tables = []\n\n# x\n  fail-on = "error"', "line 4: unknown key 'fail-on'. Did you mean 'fail_on'?"),
        ('[spark]\nmaster = "m"\nconfs = {}', "line 3: unknown key 'spark.confs'. Did you mean 'conf'?"),
        ('spark.maste = "m"', "line 1: unknown key 'spark.maste'. Did you mean 'master'?"),
        ("[sparks]\nx = 1", "line 1: unknown key 'sparks'. Did you mean 'spark'?"),
        ('[[waiver]]\ncode = "MD03"', "line 1: unknown key 'waiver'. Did you mean 'waivers'?"),
        ('tables = "a"', "line 1: tables is 'a'; it has to be a list."),
        ("strict = 1", "line 1: strict is 1; it has to be true or false."),
        ('x = """\ntables = 1\n"""\n', "line 1: unknown key 'x'."),
        ('fail_on = "warnings"', "has to be one of error, warning, never. Did you mean 'warning'?"),
        ('\nlevel = "rows"', "line 2: level is 'rows'; it has to be one of log, footers, data."),
        ('tables = [{ owner = "x" }]', "line 1: entry 1 of tables names no table."),
        ("tables = [3]", "line 1: entry 1 of tables names no table."),
        ("exclude = [3]", "line 1: exclude has 3; it has to be a list of strings."),
        ("[storage]\nregion = [1]", "line 2: storage.region is [1]; it has to be a string."),
        ("tables = [", "Invalid value"),
    ],
)
def test_what_makes_no_sense_is_named_with_its_line(text, message, tmp_path):
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_lines_are_counted_in_pyproject_too(tmp_path):
    path = written(tmp_path, '[tool.delta-provider]\ntables = []\nstat_path = ""\n', "pyproject.toml")
    with pytest.raises(ConfigError, match=r"line 3: unknown key 'stat_path'\. Did you mean 'state_path'\?"):
        read_config(path)


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_file_that_cannot_be_read_is_named(content, tmp_path):
    path = tmp_path / "delta-provider.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"delta-provider\.toml"):
        read_config(path)


def test_absolute_names_are_those_of_tables_and_of_what_holds_for_them() -> None:
    text = """
tables = ["../lake/orders", "./a/*", "sales.orders", "s3://lake/**", { table = "b/*", owner = "me" }]
exclude = ["../lake/tmp/**", "*_tmp"]
waivers = [{ code = "MD03", table = "a/x*" }, { code = "MD03", table = "*/orders" }, { code = "MD03" }]
"""
    config = parse_config(text, "c.toml", "/repo/cfg").with_absolute_names("/repo/cfg")
    assert config.tables == ("/repo/lake/orders", "/repo/cfg/a/*", "sales.orders", "s3://lake/**", "/repo/cfg/b/*")
    assert config.ownership == ({"table": "/repo/cfg/b/*", "owner": "me"},)
    assert config.exclude == ("/repo/lake/tmp/**", "*_tmp")
    assert [waiver.get("table") for waiver in config.waivers] == ["/repo/cfg/a/x*", "*/orders", None]
