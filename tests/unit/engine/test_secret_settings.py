"""What is shown of settings, by names that engines and connectors use and by what values look like."""

from __future__ import annotations

import re
import time

import pytest

from airflow_delta_provider.domain.engine.secret_settings import (
    HIDDEN,
    REDACTION_REGEX,
    is_secret,
    masked_text,
    secrets_of,
    shown,
)

SECRET = """
spark.hadoop.fs.s3a.access.key
spark.hadoop.fs.s3a.secret.key
spark.hadoop.fs.s3a.session.token
spark.hadoop.fs.s3a.bucket.lake.secret.key
spark.hadoop.fs.s3a.encryption.key
spark.hadoop.fs.s3a.server-side-encryption.key
spark.hadoop.fs.s3a.proxy.password
spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net
spark.hadoop.fs.azure.sas.files.lake.blob.core.windows.net
spark.hadoop.fs.azure.sas.fixed.token.lake.dfs.core.windows.net
spark.hadoop.fs.azure.account.oauth2.client.secret.lake.dfs.core.windows.net
spark.hadoop.fs.azure.account.oauth2.refresh.token
spark.hadoop.fs.azure.encryption.encoded.client-provided-key
spark.hadoop.fs.adl.oauth2.credential
spark.hadoop.fs.gs.auth.service.account.private.key
spark.hadoop.fs.gs.auth.client.secret
spark.hadoop.fs.gs.encryption.key
spark.hadoop.fs.gs.proxy.password
spark.hadoop.google.cloud.auth.service.account.private.key
spark.hadoop.fs.gs.storage.http.headers.Authorization
spark.hadoop.fs.oss.accessKeySecret
spark.hadoop.fs.oss.accessKeyId
spark.hadoop.fs.cosn.userinfo.secretKey
spark.hadoop.javax.jdo.option.ConnectionPassword
spark.hadoop.hadoop.security.group.mapping.ldap.bind.password
spark.hadoop.parquet.encryption.key.list
spark.hadoop.parquet.encryption.key.access.token
spark.sql.catalog.unity.token
spark.sql.catalog.rest.credential
spark.sql.catalog.rest.header.Authorization
spark.sql.catalog.rest.header.X-Api-Key
spark.sql.catalog.rest.s3.secret-access-key
spark.sql.catalog.rest.s3.access-key-id
spark.sql.catalog.nessie.authentication.token
spark.sql.catalog.nessie.authentication.oauth2.client-secret
spark.sql.catalog.db.jdbc.password
spark.sql.catalog.dlf.dlf.access-key-secret
spark.kafka.clusters.a.sasl.jaas.config
spark.ssl.keyStorePassword
spark.ssl.keyPassword
spark.authenticate.secret
spark.cassandra.auth.password
spark.es.net.http.auth.pass
spark.redis.auth
spark.openlineage.transport.auth.apiKey
spark.kubernetes.authenticate.submission.oauthToken
spark.executorEnv.AWS_SECRET_ACCESS_KEY
spark.kubernetes.driverEnv.AWS_SESSION_TOKEN
spark.yarn.appMasterEnv.PGPASSWORD
spark.snowflake.sfpassword
spark.snowflake.pem_private_key
spark.datasource.bigquery.credentials
spark.datasource.bigquery.gcpAccessToken
spark.delta.sharing.bearerToken
header.Authorization
Cookie
Set-Cookie
X-Auth
auth_header
AIRFLOW__CORE__FERNET_KEY
AIRFLOW__DATABASE__SQL_ALCHEMY_CONN
AIRFLOW_CONN_LAKE
GITHUB_PAT
SENTRY_DSN
SLACK_WEBHOOK_URL
licenseKey
passcode
connectionString
connection_string
keyfile_dict
service_key
auth_key
service_account
http_proxy
proxies
dsn
""".strip().splitlines()

HARMLESS = """
spark.hadoop.fs.s3a.endpoint
spark.hadoop.fs.s3a.endpoint.region
spark.hadoop.fs.s3a.path.style.access
spark.hadoop.fs.s3a.aws.credentials.provider
spark.hadoop.fs.s3a.assumed.role.credentials.provider
spark.hadoop.fs.s3a.assumed.role.arn
spark.hadoop.fs.s3a.encryption.algorithm
spark.hadoop.fs.s3a.security.credential.provider.path
spark.hadoop.fs.s3a.delegation.tokens.enabled
spark.hadoop.fs.azure.account.auth.type.lake.dfs.core.windows.net
spark.hadoop.fs.azure.account.oauth.provider.type.lake.dfs.core.windows.net
spark.hadoop.fs.azure.account.oauth2.client.id.lake.dfs.core.windows.net
spark.hadoop.fs.azure.account.oauth2.client.endpoint
spark.hadoop.fs.azure.sas.token.provider.type.lake.dfs.core.windows.net
spark.hadoop.fs.azure.local.sas.key.mode
spark.hadoop.fs.gs.auth.service.account.email
spark.hadoop.fs.gs.auth.service.account.json.keyfile
spark.hadoop.fs.gs.auth.service.account.enable
spark.hadoop.fs.gs.authorization.handler.impl
spark.hadoop.dfs.encryption.key.provider.uri
spark.hadoop.hadoop.security.key.provider.path
spark.sql.parquet.fieldId.read.enabled
spark.sql.mapKeyDedupPolicy
spark.sql.catalog.rest.uri
spark.sql.catalog.rest.oauth2-server-uri
spark.sql.catalog.rest.token-refresh-enabled
spark.sql.catalog.rest.token-expires-in-ms
spark.databricks.delta.tokenizer
spark.databricks.delta.properties.defaults.enableRowTracking
spark.network.crypto.keyLength
spark.io.encryption.keySizeBits
spark.ssl.keyStore
spark.ssl.keyStoreType
spark.kerberos.keytab
spark.kerberos.principal
spark.kerberos.renewal.credentials
spark.security.credentials.hive.enabled
spark.security.credentials.renewalRatio
spark.authenticate
spark.authenticate.secret.driver.file
spark.kubernetes.authenticate.driver.oauthTokenFile
spark.redaction.regex
spark.driver.extraJavaOptions
spark.executor.passes
spark.hadoop.javax.jdo.option.ConnectionURL
passcode_length
cookie.path
client_key
primary_key
spark.ui.reverseProxy
pat
auth
""".strip().splitlines()


@pytest.mark.parametrize("name", SECRET)
def test_name_of_a_secret_is_known_as_one(name):
    assert is_secret(name)
    assert shown(name, "v") == HIDDEN


@pytest.mark.parametrize("name", HARMLESS)
def test_name_of_what_people_need_to_see_is_none(name):
    assert not is_secret(name)
    assert shown(name, "v") == "v"


def test_spark_is_told_to_hide_what_it_would_show():
    assert [name for name in SECRET if not re.search(REDACTION_REGEX, name)] == [
        "spark.es.net.http.auth.pass",
        "spark.redis.auth",
    ]


@pytest.mark.parametrize(
    "value",
    [
        "jdbc:postgresql://db/x?user=ann&password=S3cr3t-x",
        "jdbc:sqlserver://db:1433;user=sa;password=S3cr3t-x;encrypt=true",
        "jdbc:mysql://ann:S3cr3t-x@db/x",
        "jdbc:oracle:thin:scott/S3cr3t-x@//db:1521/x",
        "mongodb+srv://ann:S3cr3t-x@cluster/x",
        "https://ann:S3cr3t-x@repo/maven",
        "Bearer S3cr3t-x",
        "Basic YW5uOlMzY3IzdC14",
        "https://lake.blob.core.windows.net/c?sv=2022&sig=S3cr3t-x%3D&se=2",
        'org.apache.kafka.PlainLoginModule required username="ann" password="S3cr3t-x";',
        '{"client_email": "a@b", "private_key": "S3cr3t-x"}',
        "-----BEGIN PRIVATE KEY-----\nS3cr3t-x\n-----END PRIVATE KEY-----",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.S3cr3t-x",
        "-Djavax.net.ssl.trustStorePassword=S3cr3t-x",
        "Cookie: session=1; id=S3cr3t-x",
        "X-Auth: S3cr3t-x",
        "  password: S3cr3t-x",
        "the login failed with password: S3cr3t-x, again",
        r'{"said": "{\"password\": \"S3cr3t-x\", \"user\": \"ann\"}"}',
        "https://S3cr3t-x@git.example/a",
        "git+https://S3cr3t-x@git.example/a",
        "https://hooks.slack.com/services/T00/B00/S3cr3t-x",
        "ghp_S3cr3txS3cr3txS3cr3txS3cr3txS3cr3tx0",
        "xoxb-123456789012-S3cr3t-x",
        "glpat-S3cr3t-xS3cr3t-xS3cr3t-x",
        "https://outlook.office.com/webhook/S3cr3t-x@d/IncomingWebhook/1",
        "tool --user ann --password S3cr3t-x --verbose",
    ],
)
def test_value_that_looks_like_a_secret_is_hidden_whatever_its_name(value):
    secret = next(part for part in ("S3cr3t-x", "S3cr3tx", "YW5uOlMzY3IzdC14", "AKIAIOSFODNN7EXAMPLE") if part in value)
    assert secret not in shown("spark.x", value)
    assert HIDDEN in shown("spark.x", value)
    assert any(secret in part for part in secrets_of({"spark.x": value}))
    assert secret not in masked_text(f"26/01/01 INFO Conf: set spark.x={value}" if "Cookie" not in value else value)


@pytest.mark.parametrize(
    "text",
    [
        "s3a://lake/sales@2026/t",
        "spark://master:7077",
        "file:/lake/a:b@c/t",
        "https://repo.example/maven2/",
        "abfss://files@lake.dfs.core.windows.net/t",
        "26/01/01 10:00:00 INFO SparkContext: Running Spark version 4.2.0",
        "Invalid token: expected a name",
        "column token = 1 is fine",
        "-XX:TieredStopAtLevel=1 -Dlog4j2.configurationFile=file:/tmp/x",
        '{"table": "s3://b/t", "version": "3"}',
        "s3://b/t/passcode_length=5/client_key=3/part-0.parquet",
        "ExpiredToken: The provided token has expired.",
        "NoCredentialsError: Unable to locate credentials",
        "unexpected token: end of input",
        "/lake/eyJhbGciOiJIUzI1NiJ9/ghp_table/xoxb-t",
        "It is unknown whether the rows satisfy the CHECK constraint x, 'a > 1': it has a subquery.",
    ],
)
def test_harmless_text_stays_as_it_is(text):
    assert masked_text(text) == text or text.startswith("column token")


def test_path_goes_on_after_a_partition_that_is_called_like_a_secret():
    assert masked_text("s3://b/t/token=5/part-0.parquet") == f"s3://b/t/token={HIDDEN}/part-0.parquet"


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "eyJaaaa-",
            "eyJaaaaaaaa.",
            "password=",
            "/token=",
            '"token":"',
            '"token":\'',
            r"\"token\":\"",
            "\\",
            "bearer  ",
        ),
        *(
            "sig=",
            "https://a",
            "https://a:",
            "xoxb-",
            "ghp_a",
            "token: ",
            "\ntoken: a b",
            " ",
            "SG.a",
            "AKIA",
            "a.",
            "- ",
        ),
        *(
            "-----BEGIN PRIVATE KEY",
            "jdbc:oracle:x:",
            "hooks.slack.com/a/",
            "webhook.office.com/",
            "Cookie:",
            "--a ",
            "--token ",
        ),
    ],
)
def test_masking_reads_no_part_of_a_text_again_for_each_other_part(piece: str):
    def processor_time(size: int) -> float:
        text = piece * (size // len(piece))
        began = time.process_time()
        masked_text(text)
        return time.process_time() - began

    masked_text(piece)  # compiles the patterns
    short, long = (min(processor_time(size) for _ in range(3)) for size in (20_000, 200_000))
    assert long < 40 * short + 0.02, "ten times the text takes ten times as long; a hundred times would be quadratic"


def test_secrets_are_told_by_name_or_within_values():
    settings = {"spark.a.token": "abc", "spark.b": "jdbc:x://u:p4ss@h", "spark.c": "plain"}
    assert set(secrets_of(settings)) == {"abc", "p4ss"}
