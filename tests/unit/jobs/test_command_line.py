"""What a command line asks for; nothing of Spark is started."""

from __future__ import annotations

import subprocess
import sys

import pytest

from airflow_delta_provider.domain.request.change_options import (
    CreateTableOptions,
    DisableColumnMappingOptions,
    DropFeatureOptions,
)
from airflow_delta_provider.domain.request.check_options import CheckRowTrackingOptions
from airflow_delta_provider.domain.request.options import ColumnMappingUsageOptions
from airflow_delta_provider.jobs.run.command_line import parse

CHECK = ("check-row-tracking", "--table", "a", "--table", "b", "--report", "r.json")


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
    request, parsed = parse([*CHECK, *arguments])
    assert request.options == options
    assert (request.tables, request.dry_run) == (("a", "b"), False)
    assert (parsed.report, parsed.master, parsed.delta_jars) == ("r.json", None, None)


def test_check_of_row_tracking_takes_master_and_jars():
    _, parsed = parse([*CHECK, "--master", "local[2]", "--delta-jars", "provided"])
    assert (parsed.master, parsed.delta_jars) == ("local[2]", "provided")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--level", "full"), "--level: invalid choice: 'full'"),
        (("--master", "spark:/host"), "--master: The Spark master 'spark:/host' is malformed"),
        (("--compare-to", "yesterday"), "--compare-to: 'yesterday' has to be a table version"),
        (("--compare-to", "-1"), "--compare-to has to be a table version (0, 1, 2, …), not -1"),
        (("--compare-to", "3", "--level", "log"), "--compare-to is 3 with --level 'log', which reads no row ids"),
        (("--key", "id"), "--key is ['id'] without --compare-to"),
        (("--compare-to", "3", "--key", "id", "--key", "id"), "names 'id' more than once"),
        (("--compare-to", "3", "--key", ""), "--key has to be a list of names"),
        (("--dry-run",), "unrecognized arguments: --dry-run"),
        (("--allow-protocol-upgrade",), "unrecognized arguments: --allow-protocol-upgrade"),
    ],
)
def test_check_of_row_tracking_that_makes_no_sense_ends_with_2_and_says_why(arguments, message, capsys):
    with pytest.raises(SystemExit) as caught:
        parse([*CHECK, *arguments])
    assert caught.value.code == 2
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
    request, _ = parse([*arguments, "--table", "t", "--report", "r.json"])
    assert request.options == options


def test_metadata_only_with_a_rewrite_allowed_ends_with_2_and_says_why(capsys):
    arguments = ["disable-column-mapping", "--strategy", "metadata-only", "--allow-rewrite"]
    with pytest.raises(SystemExit) as caught:
        parse([*arguments, "--table", "t", "--report", "r.json"])
    assert caught.value.code == 2
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
    assert [parse([*arguments, *more])[0].dry_run for more in ((), ("--dry-run",))] == [False, True]


ALTER = ("alter-columns", "--table", "t", "--report", "r.json")


def test_columns_are_altered_as_each_argument_says():
    arguments = (
        *("--rename", "s.a=b", "--rename", "`x=y`=`a=b`", "--drop", "c", "--drop", "`d.e`"),
        *("--add", "n=struct<a:int>", "--add", "odd=name=decimal(3,1)"),
    )
    options = parse([*ALTER, *arguments])[0].options
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
    with pytest.raises(SystemExit) as caught:
        parse([*ALTER, *arguments])
    assert caught.value.code == 2
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
    assert parse(arguments)[0].options == DropFeatureOptions(features=("a", "b"))
    assert parse([*arguments, argument])[0].options == DropFeatureOptions(features=("a", "b"), **{option: True})


def test_command_line_that_makes_no_sense_is_answered_without_pyspark():
    code = (
        "import sys; sys.modules['pyspark'] = None\n"
        "from airflow_delta_provider.jobs.run.command_line import main\n"
        "main(['check-row-tracking', '--level', 'full'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "invalid choice" in done.stderr


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
    options = parse(["create-table", "--table", "t", "--report", "r.json", *arguments])[0].options
    assert options == CreateTableOptions(
        columns={"a=b": "array<int>", "day": "date"}, partition_by=("day",), allow_unsafe_log_store=True
    )


def test_writer_lockout_is_acknowledged_by_its_argument_alone():
    arguments = ["enable-feature", "--feature", "x", "--table", "t", "--report", "r.json"]
    more = ["--acknowledge-writer-lockout"]
    assert [parse([*arguments, *m])[0].options.acknowledge_writer_lockout for m in ([], more)] == [False, True]
