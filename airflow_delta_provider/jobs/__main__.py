"""Entry point of ``python -m airflow_delta_provider.jobs``."""

from __future__ import annotations

import sys

from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.run.command_line import main

collect_seldom()
sys.exit(main())
