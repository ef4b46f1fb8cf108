"""Entry point of an application that spark-submit started: request file in, marker lines out."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from typing import Any

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.marker import marker_lines
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process.garbage_collection import collect_seldom
from airflow_delta_provider.jobs.process.optional_packages import forgo_pandas
from airflow_delta_provider.jobs.process.submitter import Submitter
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.spark_session import submitted_session

#: Seconds for the JVM's thread that copies this process's output to finish after the last line.
_DRAIN = 0.2


def main(request_name: str, submission: str, log_level: str = "", *, lock: str | None = None) -> int:
    """Run the request and send its report, or the error that kept it from being made.

    :param request_name: name of the request among the files of the application
    :param submission: nonce of the submission
    :param log_level: log level of the Spark context, where one is wanted
    :param lock: path of the file by which the submitter is known to live: see :class:`Submitter`
    :return: exit code: 0 if a report was sent, else 1
    """
    spark: SparkSession | None = None
    submitter = Submitter(lock)
    submitter.watch()
    forgo_pandas()
    collect_seldom()
    try:
        spark = submitted_session(f"airflow-delta-provider {submission}")
        if log_level:
            spark.sparkContext.setLogLevel(log_level)
        with open(SparkFiles.get(request_name), encoding="utf-8") as file:
            request = JobRequest.from_json(json.load(file))
        report = run(
            request, SparkDeltaSession(spark, submitter), progress=lambda line: _send("progress", submission, line)
        )
        channel, document, code = "report", report.to_json(), 0
    except BaseException as error:
        channel, code = "error", 1
        document = {"message": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    # Twice, before and after the session stops: its log lines may cut one copy, a hanging stop lose the other.
    _send(channel, submission, document)
    if spark is not None:
        spark.stop()
        _send(channel, submission, document)
    time.sleep(_DRAIN)
    return code


def _send(channel: str, submission: str, document: Any) -> None:
    sys.stdout.flush()
    for line in marker_lines(channel, submission, document):
        os.write(sys.stdout.fileno(), f"{line}\n".encode())
