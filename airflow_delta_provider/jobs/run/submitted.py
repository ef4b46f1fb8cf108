"""Entry point of an application started by spark-submit: reads a request and sends an answer."""

from __future__ import annotations

import json
import time
import traceback

from pyspark.sql import SparkSession

from airflow_delta_provider.domain.report.answer_file import AnswerFile
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process.garbage_collection import collect_seldom
from airflow_delta_provider.jobs.process.optional_packages import forgo_pandas
from airflow_delta_provider.jobs.process.submitter import Submitter
from airflow_delta_provider.jobs.run.answer import Answer, FileAnswer, OutputAnswer
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta.delta_session import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session.spark_session import submitted_session

#: Seconds for the JVM's thread that copies this process's output to finish after the last line.
_DRAIN = 0.2


def main(request: str, submission: str, log_level: str = "", folder: str = "", *, lock: str | None = None) -> int:
    """Run the request and send its report, or the error that prevented it.

    :param request: the request, as JSON
    :param submission: nonce of the submission
    :param log_level: log level of the Spark context; empty keeps the default
    :param folder: folder for the answer file; empty sends the answer through the output
    :param lock: path of the lock file that shows that the submitter is alive: see :class:`Submitter`
    :return: exit code: 0 if a report was sent, else 1
    """
    spark: SparkSession | None = None
    answer: Answer = FileAnswer(AnswerFile(folder, submission)) if folder else OutputAnswer(submission)
    submitter = Submitter(lock)
    submitter.watch()
    forgo_pandas()
    collect_seldom()
    try:
        spark = submitted_session(f"airflow-delta-provider {submission}")
        if log_level:
            spark.sparkContext.setLogLevel(log_level)
        session = SparkDeltaSession(spark, submitter)
        answer.begin(session.storage)
        report = run(JobRequest.from_json(json.loads(request)), session, progress=answer.progress)
        channel, document, code = "report", report.to_json(), 0
    except BaseException as error:
        channel, code = "error", 1
        document = {"message": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    answer.finish(channel, document, spark.stop if spark is not None else lambda: None)
    time.sleep(_DRAIN)
    return code
