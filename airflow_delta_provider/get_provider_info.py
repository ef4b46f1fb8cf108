"""What Airflow asks of a provider package."""

from __future__ import annotations

from typing import Any

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
                    "airflow_delta_provider.operators.enable_feature",
                    "airflow_delta_provider.operators.widen_types",
                ],
            }
        ],
        "sensors": [{"integration-name": _INTEGRATION, "python-modules": ["airflow_delta_provider.sensors.feature"]}],
        "triggers": [{"integration-name": _INTEGRATION, "python-modules": ["airflow_delta_provider.triggers.feature"]}],
        "hooks": [
            {"integration-name": _INTEGRATION, "python-modules": ["airflow_delta_provider.hooks.delta_spark_submit"]}
        ],
        "config": {
            "delta_provider": {
                "description": "Settings of airflow-delta-provider.",
                "options": {
                    "allowed_locations": {
                        "description": (
                            "Which tables tasks may reach, separated by commas: an entry with a slash is a location "
                            "and allows what lies below it, any other is the beginning of a catalog name. Empty "
                            "allows all. Set it where DAG authors must not reach each other's tables."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://lake/sales,main.sales",
                        "default": "",
                    },
                    "jar_cache": {
                        "description": (
                            "Folder on the worker that remembers which jars were resolved. Empty means "
                            "delta_provider/jars below AIRFLOW_HOME."
                        ),
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": None,
                        "default": "",
                    },
                },
            }
        },
    }
