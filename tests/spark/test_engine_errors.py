"""What errors mean, on errors that Delta and Spark really raise."""

from __future__ import annotations

import io
import socket

import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from py4j.protocol import Py4JError
from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.serializers import CPickleSerializer, read_int
from pyspark.util import _load_from_socket, local_connect_and_auth

from airflow_delta_provider.domain.delta.log_files import BrokenLogError
from airflow_delta_provider.domain.engine.spark_library import FILE_CONFLICTS, METADATA_CONFLICTS
from airflow_delta_provider.domain.report.report import Verdict
from airflow_delta_provider.jobs.spark.engine_errors import understand
from airflow_delta_provider.jobs.storage.errors import MissingFileError
from tests.tables.protocols import legacy


def meaning(error):
    understood = understand(error)
    return understood.rule.code, understood.verdict, understood.retryable


def scala(spark, *elements):
    sequence = spark._jvm.java.util.ArrayList()
    for element in elements:
        sequence.add(element)
    return spark._jvm.scala.jdk.javaapi.CollectionConverters.asScala(sequence).toSeq()


def started_transaction(spark, path):
    """Start a transaction through Delta's own classes; return it and a function that commits actions in it."""
    jvm = spark._jvm
    none = getattr(getattr(jvm.scala, "None$"), "MODULE$")
    transaction = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path)).startTransaction(
        none, none
    )
    operation = getattr(getattr(jvm.org.apache.spark.sql.delta, "DeltaOperations$ManualUpdate$"), "MODULE$")
    return transaction, lambda *actions: transaction.commit(scala(spark, *actions), operation)


def test_metadata_conflict_of_two_real_transactions_is_a_lost_race(table, spark):
    path = table(legacy)
    transaction, commit = started_transaction(spark, path)
    metadata = transaction.metadata()
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('team' = 'b')")
    with pytest.raises(Exception, match="DELTA_METADATA_CHANGED") as caught:
        commit(metadata)
    assert meaning(caught.value) == ("RQ15", Verdict.REFUSED, True)
    assert understand(caught.value).condition in METADATA_CONFLICTS


def test_file_conflict_of_two_real_transactions_may_run_again(table, spark):
    path = table(legacy)
    transaction, commit = started_transaction(spark, path)
    removed = [transaction.filterFiles().toList().apply(0).remove()]
    spark.sql(f"DELETE FROM delta.`{path}`")
    with pytest.raises(Exception, match="DELTA_CONCURRENT") as caught:
        commit(*removed)
    assert meaning(caught.value) == ("RQ15", Verdict.REFUSED, True)
    assert understand(caught.value).condition in FILE_CONFLICTS


def test_what_sql_refuses_is_refused_in_the_engines_words_without_its_stack(table, spark):
    path = table(legacy)
    with pytest.raises(Exception, match="DELTA") as caught:
        spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.feature.nonsense' = 'supported')")
    understood = understand(caught.value)
    assert (understood.rule.code, understood.verdict, understood.retryable) == ("RQ17", Verdict.REFUSED, False)
    assert "nonsense" in understood.message
    assert "\tat " not in understood.message


@pytest.mark.parametrize(
    ("error", "expected", "words"),
    [
        (PermissionError("/t"), ("FT01", Verdict.FAULT, False), "Give the job's user"),
        (OSError("disk"), ("FT01", Verdict.FAULT, True), "Storage failed: disk"),
        (BrokenLogError("commit 3 missing"), ("RQ03", Verdict.REFUSED, False), "commit 3 missing"),
        (NotADirectoryError(20, "x"), ("FT01", Verdict.FAULT, False), "a file where a directory must be"),
        (OSError(30, "x"), ("FT01", Verdict.FAULT, False), "mounted read-only"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "half"), ("RQ17", Verdict.REFUSED, False), "not valid Unicode"),
        (ZeroDivisionError("x"), ("FT03", Verdict.FAULT, False), "Unexpected ZeroDivisionError: x"),
    ],
)
def test_error_of_python_is_a_fault_or_refusal_of_its_kind(session, error, expected, words):
    assert meaning(error) == expected
    assert words in understand(error).message


def lost(port: int, how: str) -> None:
    """Lose the connection to a JVM, as Py4J and PySpark notice it."""
    if how == "a call":
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
        gateway.jvm.java.lang.System.currentTimeMillis()
    elif how == "rows":
        with _load_from_socket((port, "secret"), CPickleSerializer()) as rows:
            list(rows)
    elif how == "a socket":
        local_connect_and_auth(port, "secret")
    else:
        raise Py4JError("Answer from Java side is empty")


@pytest.mark.parametrize("how", ["a call", "rows", "a socket", "an answer"])
def test_lost_connection_to_the_jvm_is_neither_the_storage_nor_a_bug_and_may_run_again(how):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(Exception, match=r".") as caught:
            lost(taken.getsockname()[1], how)
    assert meaning(caught.value) == ("FT01", Verdict.FAULT, True)
    assert "The connection to Spark's JVM broke" in understand(caught.value).message
    assert "torage failed" not in understand(caught.value).message


def test_end_of_the_jvm_while_rows_are_read_is_no_bug():
    with pytest.raises(EOFError) as caught:
        read_int(io.BytesIO(b""))
    assert meaning(caught.value) == ("FT01", Verdict.FAULT, True)


def test_errors_of_the_same_types_from_elsewhere_are_what_they_were():
    with pytest.raises(UnboundLocalError) as caught:
        del unknown  # type: ignore[name-defined]  # noqa: F821
    assert meaning(caught.value) == ("FT03", Verdict.FAULT, False)
    refused = understand(ConnectionRefusedError("the store"))
    assert (refused.rule.code, refused.message.split(":")[0]) == ("FT01", "Storage failed")


def test_broken_connection_to_the_storage_is_a_fault_that_a_retry_may_mend(spark):
    jvm = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path("hdfs://localhost:9/t")  # nobody listens on the discard port
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    configuration.set("ipc.client.connect.max.retries", "0")
    with pytest.raises(Exception, match="onnection") as caught:
        path.getFileSystem(configuration).exists(path)
    assert meaning(caught.value) == ("FT01", Verdict.FAULT, True)


def test_host_that_cannot_be_resolved_is_a_fault_that_a_retry_may_mend(spark):
    # PySpark has an exception of its own for this one, and for the next.
    with pytest.raises(IllegalArgumentException, match="no-such-host") as caught:
        spark.read.parquet("hdfs://no-such-host.invalid:8020/t")
    assert meaning(caught.value) == ("FT01", Verdict.FAULT, True)


def test_cause_of_an_error_that_pyspark_replaces_counts(spark):
    jvm = spark._jvm
    denied = jvm.org.apache.hadoop.security.AccessControlException("Permission denied: user=alice")
    failure = jvm.scala.util.Failure(jvm.java.lang.IllegalArgumentException("of a setting", denied))
    with pytest.raises(IllegalArgumentException, match="of a setting") as caught:
        failure.get()
    assert meaning(caught.value) == ("FT01", Verdict.FAULT, False)
    assert understand(caught.value).message.startswith("No permission: ")


@pytest.mark.parametrize(
    ("does", "missing"),
    [
        (lambda spark: spark.read.format("nope").load("/t"), "Failed to find the data source: nope"),
        (lambda spark: spark.sql("SELECT * FROM lost.a.b"), "no.such.Catalog"),
    ],
    ids=["data source", "catalog"],
)
def test_class_that_a_setting_names_is_no_storage_without_a_driver(spark, does, missing):
    spark.conf.set("spark.sql.catalog.lost", "no.such.Catalog")
    try:
        with pytest.raises(Exception, match=r".") as caught:
            does(spark)
    finally:
        spark.conf.unset("spark.sql.catalog.lost")
    assert meaning(caught.value) == ("FT02", Verdict.FAULT, False)
    said = understand(caught.value).message
    assert said.startswith("A class is not on Spark's classpath: ")
    assert missing in said
    assert "spark.jars.packages" in said


def test_data_file_that_is_gone_is_a_storage_fault_not_a_refusal(table, spark):
    path = table(legacy)
    for file in path.glob("*.parquet"):
        file.unlink()
    with pytest.raises(Exception, match="FILE") as caught:
        spark.sql(f"SELECT * FROM delta.`{path}`").collect()
    assert meaning(caught.value) == ("FT01", Verdict.FAULT, True)


def test_exception_that_lost_its_condition_is_known_by_its_message():
    # So they come once Delta's own Python package has been imported.
    lost = PySparkException("[DELTA_METADATA_CHANGED] The metadata of the Delta table has been changed.")
    assert meaning(lost) == ("RQ15", Verdict.REFUSED, True)
    assert meaning(PySparkException("no condition at all"))[0] == "RQ17"


def test_file_that_the_job_itself_lacks_is_not_taken_for_one_of_the_table() -> None:
    assert meaning(MissingFileError("file:/t/_delta_log/0.json")) == ("RQ15", Verdict.REFUSED, True)
    assert meaning(FileNotFoundError(2, "No such file", "jobs.zip/x.java")) == ("FT03", Verdict.FAULT, False)


@pytest.mark.parametrize(
    ("name", "message", "expected", "words"),
    [
        ("java.lang.NoClassDefFoundError", "org/apache/spark/sql/X", ("FT02", Verdict.FAULT, False), "do not fit"),
        ("java.lang.NoSuchMethodError", "io.delta.X.y()", ("FT02", Verdict.FAULT, False), "do not fit"),
        (
            "java.lang.NoClassDefFoundError",
            "org/apache/hadoop/fs/BulkDelete",
            ("FT02", Verdict.FAULT, False),
            "do not fit together: org.apache.hadoop.fs.BulkDelete is missing",
        ),
        (
            "java.lang.NoClassDefFoundError",
            "software/amazon/awssdk/core/exception/SdkException",
            ("FT02", Verdict.FAULT, False),
            "not on Spark's classpath: software.amazon.awssdk.core.exception.SdkException",
        ),
        (
            "java.lang.ClassNotFoundException",
            "io.delta.storage.S3DynamoDBLogStore",
            ("FT02", Verdict.FAULT, False),
            "not on Spark's classpath: io.delta.storage.S3DynamoDBLogStore",
        ),
        (
            "java.lang.ClassNotFoundException",
            "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            ("FT01", Verdict.FAULT, False),
            "No Hadoop filesystem for this storage",
        ),
        (
            "java.io.FileNotFoundException",
            "/t/_delta_log/.0.json.tmp (Read-only file system)",
            ("FT01", Verdict.FAULT, False),
            "mounted read-only",
        ),
        ("java.io.IOException", "Cannot do it: File name too long", ("FT01", Verdict.FAULT, False), "a shorter one"),
        (
            "org.apache.hadoop.fs.ParentNotDirectoryException",
            "x",
            ("FT01", Verdict.FAULT, False),
            "file where a directory",
        ),
        ("java.io.IOException", "No space left on device", ("FT01", Verdict.FAULT, True), "If it persists"),
    ],
)
def test_error_of_java_says_what_it_is_and_whether_a_retry_helps(spark, name, message, expected, words):
    jvm = spark._jvm
    source = jvm.java.util.concurrent.CompletableFuture()
    source.completeExceptionally(getattr(jvm, name)(message))
    with pytest.raises(Exception, match=r".") as caught:
        source.get()
    assert meaning(caught.value) == expected
    assert words in understand(caught.value).message


def test_failure_of_the_engine_that_is_neither_storage_nor_a_refusal_may_pass(spark):
    with pytest.raises(Exception, match="NoSuchElement") as caught:
        spark._jvm.java.util.ArrayDeque().pop()
    assert meaning(caught.value) == ("FT02", Verdict.FAULT, True)


@pytest.mark.parametrize(
    "call",
    [
        lambda jvm: jvm.org.apache.spark.sql.delta.DeltaLog.inAnotherRelease(),
        lambda jvm: jvm.java.lang.StringBuilder().inAnotherRelease(1),
        lambda jvm: jvm.org.apache.spark.sql.delta.InAnotherRelease(),
        lambda jvm: jvm.java.lang.Class.forName("org.apache.spark.sql.delta.InAnotherRelease"),
    ],
    ids=["static method", "method", "class", "class by name"],
)
def test_what_another_release_has_is_told_as_missing_from_this_one(spark, call):
    with pytest.raises(Exception, match=r".") as caught:
        call(spark._jvm)
    assert meaning(caught.value) == ("FT02", Verdict.FAULT, False)
    said = understand(caught.value).message
    assert f"Spark {spark.version} and this release of Delta Lake do not fit together: " in said
    assert "nAnotherRelease" in said or "a class that jobs call" in said
    assert "io.delta:delta-spark_4.2_2.13:" in said


@pytest.mark.parametrize("kind", ["NoSuchMethodError", "AbstractMethodError", "NoSuchFieldError"])
def test_library_of_another_release_is_no_storage_without_a_driver(spark, kind):
    jvm = spark._jvm
    source = jvm.java.util.concurrent.CompletableFuture()
    source.completeExceptionally(getattr(jvm.java.lang, kind)("'void org.apache.hadoop.util.Other.method()'"))
    with pytest.raises(Exception, match=r".") as caught:
        source.get()
    assert meaning(caught.value) == ("FT02", Verdict.FAULT, False)
    said = understand(caught.value).message
    assert "Libraries on Spark's classpath do not fit together: 'void org.apache.hadoop.util.Other.method()'" in said
