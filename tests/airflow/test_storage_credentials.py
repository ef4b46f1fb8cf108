"""Airflow connections as settings of Hadoop, and the file by which settings reach Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.log import redact

from airflow_delta_provider.domain.engine.spark_library import parse_defaults
from airflow_delta_provider.exceptions import DeltaConnectionError, DeltaRequestError
from airflow_delta_provider.hooks.settings_file import SettingsFile, take_settings
from airflow_delta_provider.hooks.storage_credentials import storage_settings
from airflow_delta_provider.operators.audit_protocol import DeltaAuditProtocolOperator
from airflow_delta_provider.operators.table_detail import DeltaTableDetailOperator
from tests.airflow.fake_spark_submit import FakeSparkSubmit, spark_submit
from tests.airflow.test_access import context

__all__ = ["spark_submit"]

LAKE = "abfss://files@lake.dfs.core.windows.net/t"
HOST = "lake.dfs.core.windows.net"
GOOGLE = {"client_email": "a@b", "private_key_id": "id", "private_key": "-----BEGIN\nkey"}


def settings(tables: list[str], local: bool = True, **fields: Any) -> dict[str, str]:
    """Return the settings of a connection, without their prefix."""
    if "extra" in fields:
        fields["extra"] = json.dumps(fields["extra"])
    connection = Connection(conn_id="store", **fields)
    kept: dict[str, str] = {}

    def keep(name: str, text: str) -> Path:
        kept[name] = text
        return Path("/kept", name)

    found = storage_settings(connection, tables, local=local, write_file=keep)
    return {name.removeprefix("spark.hadoop."): value for name, value in found.items()} | kept


def test_keys_of_amazon_hold_for_the_buckets_of_the_tables() -> None:
    aws = {"conn_type": "aws", "login": "AK", "password": "SK"}
    found = settings(["s3://a/t", "s3a://b.c/x/*", "s3a://a/u"], **aws)
    assert set(found) == {
        f"fs.s3a.bucket.{bucket}.{name}"
        for bucket in ("a", "b.c")
        for name in ("access.key", "secret.key", "aws.credentials.provider")
    }
    assert found["fs.s3a.bucket.a.secret.key"] == "SK"
    assert settings(["s3a://a/t", "main.sales.t"], **aws)["fs.s3a.access.key"] == "AK"


def test_session_endpoint_region_and_role_of_amazon_are_taken_over() -> None:
    extra = {
        "aws_access_key_id": "AK",
        "aws_secret_access_key": "SK",
        "aws_session_token": "ST",
        "region_name": "eu-central-1",
        "service_config": {"s3": {"endpoint_url": "http://minio:9000"}},
        "role_arn": "arn:aws:iam::1:role/r",
        "assume_role_kwargs": {"ExternalId": "x"},
    }
    found = settings(["s3a://a/t"], conn_type="aws", extra=extra)
    assert {name.removeprefix("fs.s3a.bucket.a."): value for name, value in found.items()} == {
        "access.key": "AK",
        "secret.key": "SK",
        "session.token": "ST",
        "aws.credentials.provider": "org.apache.hadoop.fs.s3a.auth.AssumedRoleCredentialProvider",
        "assumed.role.credentials.provider": "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
        "assumed.role.arn": "arn:aws:iam::1:role/r",
        "assumed.role.external.id": "x",
        "endpoint": "http://minio:9000",
        "endpoint.region": "eu-central-1",
        "path.style.access": "true",
    }
    assert settings(["s3a://a/t"], conn_type="aws", extra={"region_name": "x"}) == {
        "fs.s3a.bucket.a.endpoint.region": "x"
    }


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        (
            {"conn_type": "wasb", "login": "lake", "password": "K"},
            {f"fs.azure.account.auth.type.{HOST}": "SharedKey", f"fs.azure.account.key.{HOST}": "K"},
        ),
        (
            {"conn_type": "wasb", "extra": {"extra__wasb__sas_token": "?sv=1&sig=x"}},
            {f"fs.azure.account.auth.type.{HOST}": "SAS", f"fs.azure.sas.fixed.token.{HOST}": "sv=1&sig=x"},
        ),
        (
            {"conn_type": "wasb", "extra": {"connection_string": "AccountName=lake;AccountKey=K==;X=1"}},
            {f"fs.azure.account.auth.type.{HOST}": "SharedKey", f"fs.azure.account.key.{HOST}": "K=="},
        ),
        (
            {"conn_type": "adls", "host": "lake", "login": "id", "password": "S", "extra": {"tenant_id": "T"}},
            {
                f"fs.azure.account.auth.type.{HOST}": "OAuth",
                f"fs.azure.account.oauth.provider.type.{HOST}": (
                    "org.apache.hadoop.fs.azurebfs.oauth2.ClientCredsTokenProvider"
                ),
                f"fs.azure.account.oauth2.client.endpoint.{HOST}": "https://login.microsoftonline.com/T/oauth2/token",
                f"fs.azure.account.oauth2.client.id.{HOST}": "id",
                f"fs.azure.account.oauth2.client.secret.{HOST}": "S",
            },
        ),
        (
            {"conn_type": "adls", "extra": {"managed_identity_client_id": "id"}},
            {
                f"fs.azure.account.auth.type.{HOST}": "OAuth",
                f"fs.azure.account.oauth.provider.type.{HOST}": "org.apache.hadoop.fs.azurebfs.oauth2.MsiTokenProvider",
                f"fs.azure.account.oauth2.client.id.{HOST}": "id",
            },
        ),
    ],
)
def test_credentials_of_azure_hold_for_the_account_of_the_table(fields: dict[str, Any], found: dict[str, str]) -> None:
    assert settings([LAKE], **fields) == found


def test_google_is_asked_without_credentials_and_at_another_address_where_the_connection_says_so() -> None:
    extra = {"is_anonymous": True, "gcs.endpoint": "http://127.0.0.1:4443"}
    assert settings(["gs://b/t"], conn_type="google_cloud_platform", extra=extra) == {
        "fs.gs.auth.type": "UNAUTHENTICATED",
        "fs.gs.storage.root.url": "http://127.0.0.1:4443",
    }


def test_key_of_google_is_a_file_here_and_settings_elsewhere() -> None:
    google = {"conn_type": "google_cloud_platform", "extra": {"keyfile_dict": json.dumps(GOOGLE), "project": "p"}}
    here = settings(["gs://b/t"], **google)
    assert here["fs.gs.auth.service.account.json.keyfile"] == "/kept/google-key.json"
    assert json.loads(here["google-key.json"]) == GOOGLE
    elsewhere = settings(["gs://b/t"], local=False, **google)
    assert elsewhere["fs.gs.auth.service.account.private.key"] == GOOGLE["private_key"]
    assert elsewhere["fs.gs.project.id"] == "p"


@pytest.mark.parametrize(
    ("tables", "fields", "says"),
    [
        (["/lake/t"], {"conn_type": "aws", "login": "a", "password": "b"}, "no table's URI begins with s3://"),
        (["s3://b/t"], {"conn_type": "aws", "login": "a"}, "a key without its secret"),
        (["s3://b/t"], {"conn_type": "aws", "extra": {"profile_name": "x"}}, "profile_name"),
        (["s3://b/t"], {"conn_type": "ssh"}, "is of type 'ssh'"),
        (
            [LAKE],
            {"conn_type": "wasb", "login": "other", "password": "K"},
            "is for the storage account 'other', but ",
        ),
        ([LAKE], {"conn_type": "adls"}, "has no key, SAS token"),
        (["main.t"], {"conn_type": "adls"}, "named by their URI"),
        (["abfss://files/t"], {"conn_type": "adls"}, "needs the account in the table's URI"),
        (["s3://b/t"], {"conn_type": "generic", "extra": {"a": "b"}}, "no setting of Hadoop"),
    ],
)
def test_connection_that_cannot_be_used_is_refused_with_the_reason(
    tables: list[str], fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(DeltaConnectionError, match=says) as raised:
        settings(tables, **fields)
    assert "'store' (storage_conn_id)" in str(raised.value)


def test_credentials_reach_the_job_by_a_file_and_conf_prevails(
    spark_submit: FakeSparkSubmit, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    connection = {"conn_type": "aws", "login": "AKIDOFTHESTORE", "password": "s3cr3t0fTheStore"}
    monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps(connection))
    spark_submit.does(
        "file = option('--properties-file')\n"
        "assert os.stat(file).st_mode & 0o777 == 0o600\n"
        "assert 's3cr3t' not in json.dumps([request, arguments])\n"
        "report()"
    )
    operator = DeltaAuditProtocolOperator(
        task_id="t",
        table="s3a://lake/t",
        state_path="s3a://ops/audits",
        delta_jars="provided",
        storage_conn_id="{{ params.store }}",
        conf={"spark.hadoop.fs.s3a.bucket.lake.endpoint.region": "mine", "spark.x": "shown"},
    )
    operator.render_template_fields({"params": {"store": "store"}})
    assert operator.execute(context())["verdict"] == "PASS"
    (given,) = spark_submit.settings
    assert given["spark.hadoop.fs.s3a.bucket.lake.secret.key"] == "s3cr3t0fTheStore"
    assert given["spark.hadoop.fs.s3a.bucket.ops.access.key"] == "AKIDOFTHESTORE"
    assert "account" in given["spark.redaction.regex"]
    logged = capsys.readouterr().out
    assert "spark.hadoop.fs.s3a.bucket.lake.secret.key=******" in logged
    assert "spark.x=shown" in logged
    assert "s3cr3t0fTheStore" not in logged
    assert "AKIDOFTHESTORE" not in logged


def test_airflow_hides_the_secrets_of_conf_wherever_they_turn_up() -> None:
    operator = DeltaTableDetailOperator(
        task_id="t",
        table="/t",
        conf={"spark.hadoop.fs.s3a.encryption.key": "{{ params.key }}", "spark.uri": "jdbc:x://u:p4ssw0rd-of-u@h/d"},
        env_vars={"MY_SAS_KEY": "sas-key-of-mine"},
    )
    operator.render_template_fields({"params": {"key": "key-of-params"}})
    rendered = str(redact({"conf": operator.conf, "env_vars": operator.env_vars, "text": "it was key-of-params"}))
    for secret in ("key-of-params", "p4ssw0rd-of-u", "sas-key-of-mine"):
        assert secret not in rendered


# -- the file --------------------------------------------------------------------------------------


def test_settings_are_taken_out_of_arguments() -> None:
    arguments = ["--master", "yarn", "--conf", "a=b=c", "--conf", "a=d", "--properties-file", "/p", "--name", "--conf"]
    arguments += ["--repositories", "https://r"]
    arguments[arguments.index("--name") + 1] = "n"
    assert take_settings(arguments) == (
        ["--master", "yarn", "--name", "n"],
        {"a": "d", "spark.jars.repositories": "https://r"},
        "/p",
    )


def test_users_properties_file_is_kept_under_what_is_set(tmp_path: Path) -> None:
    mine = tmp_path / "mine.conf"
    mine.write_text("spark.a  1\nspark.b=2 \\\n  3\nspark.c 4\\", encoding="utf-8")
    file = SettingsFile({"spark.a": "own", "spark.d": " x\\y\nz: é🙂"}, str(mine), "spark-submit", {})
    assert file.settings["spark.b"] == "2 3"
    assert file.is_whole
    assert "spark.d=\\ x\\\\y\\nz: \\u00e9\\ud83d\\ude42\n" in file.text()
    assert parse_defaults(file.text())["spark.a"] == "own"
    with pytest.raises(DeltaRequestError, match=r"properties_file: .*/none cannot be read"):
        SettingsFile({}, str(tmp_path / "none"), "spark-submit", {})


def test_defaults_of_the_platform_are_found_as_spark_submit_finds_them(tmp_path: Path) -> None:
    home = tmp_path / "spark"
    for folder in ("bin", "conf", "jars"):
        (home / folder).mkdir(parents=True)
    (home / "conf" / "spark-defaults.conf").write_text("spark.platform  1\n")
    binary = str(home / "bin" / "spark-submit")
    (tmp_path / "other").mkdir()
    for environment, platform in [
        ({}, {"spark.platform": "1"}),
        ({"SPARK_HOME": str(home)}, {"spark.platform": "1"}),
        ({"SPARK_CONF_DIR": str(tmp_path / "other")}, {}),
    ]:
        file = SettingsFile({"spark.x": "1"}, None, binary, environment)
        assert (file.is_whole, file.settings) == (True, {"spark.x": "1", **platform})
    assert not SettingsFile({"spark.x": "1"}, None, "/usr/bin/spark-submit-of-a-platform", {}).is_whole
