"""What Airflow asks of a provider package."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.request.kinds import KINDS

_INTEGRATION = "Delta Lake"


def get_provider_info() -> dict[str, Any]:
    """Return the provider's entry for Airflow's providers manager."""
    return {
        "package-name": "airflow-delta-provider",
        "name": "Delta Lake table protocol",
        "description": "Manages and guards the table protocol of Delta Lake tables, with PySpark jobs.",
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://github.com/delta-io/delta/blob/master/PROTOCOL.md",
                "tags": ["software"],
            }
        ],
        "operators": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    f"airflow_delta_provider.{kind.operator.partition(':')[0]}" for kind in KINDS.values()
                ],
            }
        ],
        "sensors": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_delta_provider.sensors.feature",
                    "airflow_delta_provider.sensors.paimon_row_tracking",
                ],
            }
        ],
        "triggers": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_delta_provider.triggers.feature",
                    "airflow_delta_provider.triggers.paimon_snapshot",
                ],
            }
        ],
        "hooks": [
            {"integration-name": _INTEGRATION, "python-modules": ["airflow_delta_provider.hooks.delta_spark_submit"]}
        ],
        "extra-links": ["airflow_delta_provider.links.report.DeltaReportLink"],
        "notifications": ["airflow_delta_provider.notifications.violation.DeltaViolationNotifier"],
        "config": {
            "delta_provider": {
                "description": "Settings of airflow-delta-provider.",
                "options": {
                    "allowed_locations": {
                        "description": (
                            "Which tables, state folders and files arguments of tasks may name, separated by commas: "
                            "an entry with a slash is a location and allows what lies below it, any other is the "
                            "beginning of a catalog name. Empty allows all. Stops mistakes and values from params, "
                            "XCom and triggers, not the code of people who write DAGs."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://lake/sales,main.sales",
                        "default": "",
                    },
                    "report_path": {
                        "description": (
                            "Folder in which each try of a task leaves its whole report: a path or a URI of object "
                            "storage, with the id of a connection before the @. Empty means delta_reports beside "
                            "the logs: in remote_base_log_folder where remote logging is to object storage, else in "
                            "base_log_folder of the worker, which other workers may not be able to read."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://aws_default@lake-ops/reports",
                        "default": "",
                    },
                    "worker_cache": {
                        "description": (
                            "Folder on the worker for what is found out once: which jars were resolved, archives of "
                            "classes. Empty means delta_provider below AIRFLOW_HOME."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": None,
                        "default": "",
                    },
                    "class_data_sharing": {
                        "description": (
                            "Let drivers on local masters load Spark's classes from an archive, which the first job "
                            "on a worker writes (some 20 seconds longer, 180 MB). Later jobs start faster. For "
                            "workers that live long."
                        ),
                        "version_added": "0.1.0",
                        "type": "boolean",
                        "example": None,
                        "default": "False",
                    },
                },
            }
        },
    }
