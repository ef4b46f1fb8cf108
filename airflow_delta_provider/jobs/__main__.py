"""Entry point of ``python -m airflow_delta_provider.jobs``."""

from __future__ import annotations

import sys

from airflow_delta_provider.jobs.command_line.main import main

sys.exit(main())
