"""Entry point of ``python -m airflow_delta_provider.jobs``."""

from __future__ import annotations

import sys

from airflow_delta_provider.jobs.run.command_line.main import main
from airflow_delta_provider.jobs.session.garbage_collection import collect_seldom

collect_seldom()
sys.exit(main())
