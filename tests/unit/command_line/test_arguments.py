"""What the arguments of a command ask for; nothing of Spark is started."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from airflow_delta_provider.command_line.invocation import Invocation, read_invocation
from airflow_delta_provider.command_line.main import main
from airflow_delta_provider.domain.request.change_options import (
    CreateTableOptions,
    DisableColumnMappingOptions,
    DropFeatureOptions,
)
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.kinds import KINDS
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions

#: A check of row tracking that lacks nothing.
CHECK = ("check-row-tracking", "--table", "a", "--table", "b", "--report", "r.json")


def parse(arguments: Sequence[str]) -> Invocation:
    """Return what a command line asks for."""
    command, *words = arguments
    return read_invocation(command, KINDS[command], words)


def ended(arguments: Sequence[str]) -> int:
    """Run a command line that makes no sense, and return its exit code."""
    try:
        return main(arguments)
    except SystemExit as error:
        return error.code


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), CheckRowTrackingOptions(level="data", compare_to_version=None, key_columns=())),
        (("--level", "log"), CheckRowTrackingOptions(level="log", compare_to_version=None, key_columns=())),
        (("--level", "footers"), CheckRowTrackingOptions(level="footers", compare_to_version=None, key_columns=())),
        (("--compare-to", "0"), CheckRowTrackingOptions(level="data", compare_to_version=0, key_columns=())),
        (
            ("--compare-to", "7", "--key", "b", "--key", "a"),
            CheckRowTrackingOptions(level="data", compare_to_version=7, key_columns=("b", "a")),
        ),
    ],
)
def test_check_of_row_tracking_asks_for_level_version_and_keys(arguments, options):
    found = parse([*CHECK, *arguments])
    parsed = found.parsed
    assert (found.options, found.tables) == (options, ["a", "b"])
    assert (parsed.dry_run, parsed.report, parsed.master, parsed.delta_jars) == (False, "r.json", None, None)


def test_check_of_row_tracking_takes_master_and_jars():
    parsed = parse([*CHECK, "--master", "local[2]", "--delta-jars", "provided"]).parsed
    assert (parsed.master, parsed.delta_jars) == ("local[2]", "provided")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--level", "full"), "--level cannot be 'full'"),
        (("--master", "spark:/host"), "--master: The Spark master 'spark:/host' is malformed"),
        (("--compare-to", "yesterday"), "--compare-to: 'yesterday' has to be a table version"),
        (("--compare-to", "-1"), "--compare-to has to be a table version (0, 1, 2, …), not -1"),
        (("--compare-to", "3", "--level", "log"), "--compare-to is 3 with --level 'log', which reads no row ids"),
        (("--key", "id"), "--key is ['id'] without --compare-to"),
        (("--compare-to", "3", "--key", "id", "--key", "id"), "names 'id' more than once"),
        (("--compare-to", "3", "--key", ""), "--key has to be a list of names"),
        (("--dry-run",), "there is no option --dry-run"),
        (("--allow-protocol-upgrade",), "there is no option --allow-protocol-upgrade"),
    ],
)
def test_check_of_row_tracking_that_makes_no_sense_ends_with_2_and_says_why(arguments, message, capsys):
    assert ended([*CHECK, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("column-mapping-usage",), ColumnMappingUsageOptions()),
        (
            ("disable-column-mapping",),
            DisableColumnMappingOptions(strategy="auto", allow_rewrite=False, verify="footers"),
        ),
        (
            ("disable-column-mapping", "--strategy", "rewrite", "--allow-rewrite", "--verify", "full"),
            DisableColumnMappingOptions(strategy="rewrite", allow_rewrite=True, verify="full"),
        ),
    ],
)
def test_leaving_column_mapping_asks_for_what_the_arguments_say(arguments, options):
    assert parse([*arguments, "--table", "t"]).options == options


def test_metadata_only_with_a_rewrite_allowed_ends_with_2_and_says_why(capsys):
    arguments = ["disable-column-mapping", "--strategy", "metadata-only", "--allow-rewrite"]
    assert ended([*arguments, "--table", "t"]) == 2
    assert "never rewrites" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        ("enable-feature", "--feature", "x"),
        ("widen-types", "--column", "q=int"),
        ("alter-columns", "--drop", "q"),
        ("disable-column-mapping",),
        ("drop-feature", "--feature", "x"),
    ],
)
def test_changes_take_a_dry_run(change):
    arguments = [*change, "--table", "t", "--report", "r.json"]
    assert [parse([*arguments, *more]).parsed.dry_run for more in ((), ("--dry-run",))] == [False, True]


ALTER = ("alter-columns", "--table", "t", "--report", "r.json")


def test_columns_are_altered_as_each_argument_says():
    arguments = (
        *("--rename", "s.a=b", "--rename", "`x=y`=`a=b`", "--drop", "c", "--drop", "`d.e`"),
        *("--add", "n=struct<a:int>", "--add", "odd=name=decimal(3,1)"),
    )
    options = parse([*ALTER, *arguments]).options
    assert options.drop == ("c", "`d.e`")
    assert options.rename == {"s.a": "b", "`x=y`": "`a=b`"}
    assert options.add == {"n": "struct<a:int>", "odd=name": "decimal(3,1)"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Pass at least one of --add, --rename and --drop."),
        (("--add", "a"), "'a' is not PATH=TYPE"),
        (("--rename", "a"), "'a' is not OLD=NEW"),
        (("--rename", "a=b=c"), "put a name that holds a = between backticks"),
        (("--rename", "=b"), "'=b' is not OLD=NEW"),
        (("--rename", "a=b", "--rename", "a=c"), "--rename names 'a' more than once"),
        (("--drop", "a", "--drop", "a"), "--drop names 'a' more than once"),
        (("--drop", "a", "--rename", "a=b"), "'a' is both dropped and renamed"),
    ],
)
def test_alteration_that_makes_no_sense_ends_with_2_and_says_why(arguments, message, capsys):
    assert ended([*ALTER, *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("argument", "option"),
    [
        ("--truncate-history", "truncate_history"),
        ("--allow-protocol-upgrade", "allow_protocol_upgrade"),
        ("--allow-rewrite", "allow_rewrite"),
        ("--acknowledge-history-loss", "acknowledge_history_loss"),
        ("--acknowledge-row-id-loss", "acknowledge_row_id_loss"),
    ],
)
def test_drop_of_features_allows_what_is_said_and_nothing_else(argument, option):
    arguments = ["drop-feature", "--feature", "a", "--feature", "b", "--table", "t", "--report", "r.json"]
    assert parse(arguments).options == DropFeatureOptions(features=("a", "b"))
    assert parse([*arguments, argument]).options == DropFeatureOptions(features=("a", "b"), **{option: True})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("enable-features", "--table", "t"), "there is no command 'enable-features'"),
        (("enable-feature", "--table", "t", "--report", "r.json"), "--feature"),
        (("enable-feature", "--feature", "x", "--report", "r.json"), "name the table to change"),
        (("enable-feature", "--feature", "x", "--table", "", "--report", "r.json"), "does not name a table"),
        (("enable-feature", "--feature", "x", "--table", "t", "--property", "a", "--report", "r.json"), "NAME=VALUE"),
        (
            (
                "enable-feature",
                "--feature",
                "x",
                "--table",
                "t",
                "--property",
                "a=1",
                "--property",
                "a=2",
                "--report",
                "r",
            ),
            "--property names 'a' more than once",
        ),
        (("widen-types", "--table", "t", "--column", "q", "--report", "r.json"), "PATH=TYPE"),
        (
            ("widen-types", "--table", "t", "--column", "a=b=int", "--column", "a=b=long", "--report", "r.json"),
            "--column names 'a=b' more than once",
        ),
        (("widen-types", "--table", "t", "--column", "q=int", "--report", "no/such/r.json"), "no directory no/such"),
        (("widen-types", "--table", "t", "--column", "q=int", "--report", "."), "that is a directory"),
        (("widen-types", "--table", "t", "--column", "q=int", "--verify", "never", "--report", "r.json"), "--verify"),
        ((*CHECK, "--level", "full"), "--level cannot be 'full'"),
        ((*CHECK, "--dry-run"), "there is no option --dry-run"),
        (("audit", "--table", "t", "--report", "r.json", "--rule", "XX01"), "--rule names 'XX01'"),
        (("audit", "--table", "t", "--report", "r.json", "--waivers", "no.yaml"), "no.yaml cannot be read"),
        (("audit", "--table", "t", "--report", "r.json", "--format", "xml"), "--format cannot be 'xml'"),
    ],
)
def test_command_line_that_makes_no_sense_exits_2_and_says_why(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert ended(arguments) == 2
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_table_is_created_as_each_argument_says():
    arguments = (
        "--column",
        "a=b=array<int>",
        "--column",
        "day=date",
        "--partition-by",
        "day",
        "--allow-unsafe-log-store",
    )
    options = parse(["create-table", "--table", "t", "--report", "r.json", *arguments]).options
    assert options == CreateTableOptions(
        columns={"a=b": "array<int>", "day": "date"}, partition_by=("day",), allow_unsafe_log_store=True
    )


def test_writer_lockout_is_acknowledged_by_its_argument_alone():
    arguments = ["enable-feature", "--feature", "x", "--table", "t", "--report", "r.json"]
    more = ["--acknowledge-writer-lockout"]
    assert [parse([*arguments, *m]).options.acknowledge_writer_lockout for m in ([], more)] == [False, True]
