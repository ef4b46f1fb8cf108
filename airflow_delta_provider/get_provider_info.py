"""Metadata of this package for Airflow's providers manager."""

from __future__ import annotations

from typing import Any

from airflow_delta_provider.domain.request.kinds import KINDS

_INTEGRATION, _PAIMON = "Delta Lake", "Apache Paimon"


def get_provider_info() -> dict[str, Any]:
    """Return the provider's metadata."""
    return {
        "package-name": "airflow-delta-provider",
        "name": "Delta Lake table protocol",
        "description": "Audits Delta Lake tables against the Delta protocol, and makes safe, verified changes to them.",
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://github.com/delta-io/delta/blob/master/PROTOCOL.md",
                "logo": "/docs/images/logo.svg",
                "how-to-guide": [
                    f"/docs/guides/{guide}.md"
                    for guide in ("audit", "row-tracking", "migrations", "widen-types", "watch-tables", "alerts")
                ],
                "tags": ["software"],
            },
            {
                "integration-name": _PAIMON,
                "external-doc-url": "https://paimon.apache.org/docs/master/append-table/row-tracking/",
                "logo": "/docs/images/logo.svg",
                "how-to-guide": ["/docs/guides/paimon.md"],
                "tags": ["apache"],
            },
        ],
        "operators": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    *(
                        f"airflow_delta_provider.{kind.operator.partition(':')[0]}"
                        for kind in KINDS.values()
                        if kind.operator and "paimon" not in kind.name
                    ),
                    "airflow_delta_provider.operators.approve_migration",
                    "airflow_delta_provider.operators.judge_report",
                ],
            },
            {
                "integration-name": _PAIMON,
                "python-modules": ["airflow_delta_provider.operators.check_paimon_row_tracking"],
            },
        ],
        "sensors": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_delta_provider.sensors.column_types",
                    "airflow_delta_provider.sensors.feature",
                    "airflow_delta_provider.sensors.health",
                    "airflow_delta_provider.sensors.protocol",
                    "airflow_delta_provider.sensors.quiet",
                    "airflow_delta_provider.sensors.quiet_window",
                    "airflow_delta_provider.sensors.row_tracking",
                    "airflow_delta_provider.sensors.table_version",
                ],
            },
            {
                "integration-name": _PAIMON,
                "python-modules": ["airflow_delta_provider.sensors.paimon_row_tracking"],
            },
        ],
        "triggers": [
            {
                "integration-name": _INTEGRATION,
                "python-modules": [
                    "airflow_delta_provider.triggers.column_types",
                    "airflow_delta_provider.triggers.feature",
                    "airflow_delta_provider.triggers.health",
                    "airflow_delta_provider.triggers.quiet",
                    "airflow_delta_provider.triggers.table_change",
                    "airflow_delta_provider.triggers.table_event",
                ],
            },
            {
                "integration-name": _PAIMON,
                "python-modules": ["airflow_delta_provider.triggers.paimon_snapshot"],
            },
        ],
        "asset-uris": [
            {
                "schemes": ["x-delta"],
                "handler": "airflow_delta_provider.assets.sanitize_uri",
                "factory": "airflow_delta_provider.assets.table_asset",
                "to_openlineage_converter": "airflow_delta_provider.assets.convert_asset_to_openlineage",
            }
        ],
        "hooks": [
            {"integration-name": _INTEGRATION, "python-modules": ["airflow_delta_provider.hooks.delta_spark_submit"]}
        ],
        "extra-links": [
            "airflow_delta_provider.links.report.DeltaReportLink",
            "airflow_delta_provider.links.report.DeltaPageLink",
            "airflow_delta_provider.links.report.DeltaTablesLink",
        ],
        "notifications": [
            "airflow_delta_provider.notifications.violation.DeltaViolationNotifier",
            "airflow_delta_provider.notifications.incidents.DeltaIncidentNotifier",
        ],
        "config": {
            "delta_provider": {
                "description": "Settings of airflow-delta-provider.",
                "options": {
                    "allowed_locations": {
                        "description": (
                            "Tables, state folders and files that task arguments may name, separated by commas. An "
                            "entry with a slash is a location and allows everything below it; any other entry is the "
                            "beginning of a catalog name. Empty allows all tables. All files that a table's log or "
                            "manifests name must lie below the locations, too; without locations, they must lie on the "
                            "table's own store. It stops mistakes and values from params, XCom and triggers, not the "
                            "code of DAG authors."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://lake/sales,main.sales",
                        "default": "",
                    },
                    "report_path": {
                        "description": (
                            "Folder in which each try of a task saves its whole report: a path or an object storage "
                            "URI, with a connection id before the @. Empty means delta_reports next to the logs: in "
                            "remote_base_log_folder if remote logging uses object storage, otherwise in the worker's "
                            "base_log_folder, which other workers may not be able to read."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://aws_default@lake-ops/reports",
                        "default": "",
                    },
                    "result_path": {
                        "description": (
                            "Folder through which drivers in deploy mode cluster send their reports: a path or a URI "
                            "that drivers and workers both reach, as Hadoop writes it. Files there are removed after "
                            "they were read."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3a://lake-ops/results",
                        "default": "",
                    },
                    "findings_table": {
                        "description": (
                            "Delta table of findings that the page Delta findings in Airflow's UI reads: a path or an "
                            "object storage URI, with a connection id before the @. The API server needs the package "
                            "deltalake. Tasks write to it only if their argument findings_table names it. Empty means "
                            "no page."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://aws_default@lake-ops/findings",
                        "default": "",
                    },
                    "worker_cache": {
                        "description": (
                            "Cache directory on the worker, or in its image, for resolved jars and class archives, "
                            "which `delta-provider warm-up` puts there. Empty means delta_provider in AIRFLOW_HOME. "
                            "Files in it are ignored unless only the task's user, root, or the owner of this package "
                            "could have written them."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": None,
                        "default": "",
                    },
                    "class_data_sharing": {
                        "description": (
                            "Let the first driver on a local master write an archive of Spark's classes (about 20 "
                            "seconds longer, 180 MB), from which later drivers load them, and start faster. For "
                            "long-lived workers; an archive in the image is always used."
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
