"""Secrets of settings: they reach Spark, and neither the command lines of processes nor the log."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.airflow.table_logs import TableLog, metadata, protocol

SECRET = "S3cr3t-0123456789"
ODD = r"a=b:c d\e#!é;🙂 \u0041 ${x}"
#: What Spark itself logs of its settings (spark.logConf).
LOGGED = re.compile(r"\[info +\] (spark\.[\w.]+)=(.*?) +\[airflow")
#: Submits a job with settings from everywhere they may come from.
_SUBMIT = """
import json, os, sys
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.domain.request.options import DetailOptions
from airflow_delta_provider.hooks.delta_spark_submit import DeltaSparkSubmitHook

table, arguments = sys.argv[1], json.loads(sys.argv[2].replace("SECRET", os.environ.pop("THE_SECRET")))
hook = DeltaSparkSubmitHook(JobRequest((table,), DetailOptions()), delta_jars="provided", **arguments)
print(hook.run().tables[0].verdict)
"""


def test_secrets_reach_spark_and_neither_command_lines_nor_the_log(tmp_path: Path) -> None:
    table = TableLog(tmp_path / "t")
    table.commit(0, protocol("typeWidening"), metadata())
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(
        f"spark.platform.shown  of the platform\nspark.platform.token  {SECRET}-0\nspark.both  platform\n"
        "spark.platform.continued  of two \\\n   lines\\"
    )
    store = {
        "conn_type": "generic",
        "extra": {"fs.s3a.encryption.key": f"{SECRET}-1", "fs.s3a.endpoint": "http://store"},
    }
    arguments = {
        "conf": {
            "spark.logConf": "true",
            "spark.both": "of the task",
            "spark.odd": ODD,
            "spark.sql.catalog.rest.header.Authorization": "Bearer SECRET-2",
            "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net": "SECRET-3\nof two lines",
            "spark.catalog.uri": "jdbc:postgresql://db/x?user=u&password=SECRET-4",
        },
        "repositories": "https://ann:SECRET-5@repo.example/maven",
        "env_vars": {"SOME_PASSWORD": "SECRET-6"},
        "storage_conn_id": "store",
        "spark_log_level": "INFO",
        "verbose": True,
    }
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "SPARK"))},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "THE_SECRET": SECRET,  # not in the arguments of this very process, which its forks have too
        "AIRFLOW_HOME": str(tmp_path / "home"),
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps({"conn_type": "spark", "host": "local[2]"}),
        "AIRFLOW_CONN_STORE": json.dumps(store),
    }
    log, lines, modes = tmp_path / "log", set(), set()
    with log.open("wb") as out:
        command = [sys.executable, "-c", _SUBMIT, table.location, json.dumps(arguments)]
        submitter = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        tree = psutil.Process(submitter.pid)
        while submitter.poll() is None:
            for process in tree.children(recursive=True):
                try:
                    words = process.cmdline()
                except psutil.Error:
                    continue
                lines.add(" ".join(words))
                for word in words:
                    if word.endswith("settings.properties") and Path(word).exists():
                        modes.add(Path(word).stat().st_mode & 0o777)
            time.sleep(0.1)
    text = log.read_text(encoding="utf-8", errors="replace")
    assert submitter.returncode == 0, text
    assert text.rstrip().endswith("Verdict.PASS"), text

    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in lines)
    assert any("delta_provider_job.py" in line and "python" in line for line in lines)
    assert [line for line in lines if SECRET in line or "--conf" in line.split()] == []
    assert modes == {0o600}
    assert [line for line in text.splitlines() if SECRET in line] == []

    shown = dict(match.groups() for match in LOGGED.finditer(text))
    assert shown["spark.platform.shown"] == "of the platform"
    assert shown["spark.platform.continued"] == "of two lines"
    assert shown["spark.both"] == "of the task"
    assert shown["spark.odd"] == ODD
    assert shown["spark.hadoop.fs.s3a.endpoint"] == "http://store"
    for name in ("spark.platform.token", "spark.sql.catalog.rest.header.Authorization"):
        assert shown[name] == "******"
