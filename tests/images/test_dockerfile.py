"""The Dockerfile of the guide, line by line, without Docker: in a copy of this machine that is thrown away."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_delta_provider.jobs.spark.session import own_session
from tests.images.copied_machine import CopiedMachine, of_machine

pytestmark = pytest.mark.soak

CHECKOUT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```dockerfile\n(.*?)^```", re.DOTALL | re.MULTILINE)
#: What Airflow's image has: its user by number, folders, and a Python environment of that user.
_AIRFLOW = 50000
_HOME = "/home/airflow"
#: A random user of OpenShift; the entrypoint of the image gives it a name.
_TASKS = 1000660000
_BASE = f"""
set -eu
useradd --uid {_AIRFLOW} --gid 0 --create-home --home-dir {_HOME} --no-log-init airflow
useradd --uid {_TASKS} --gid 0 --no-create-home --home-dir {_HOME} --no-log-init default
mkdir -p /opt/airflow/dags /opt/airflow/logs
chown -R airflow:root /opt/airflow {_HOME}
chmod -R g+rwX /opt/airflow {_HOME}
for folder in "$@"; do chmod go+x "$folder"; done
"""


def instructions() -> Iterator[tuple[str, str]]:
    """Yield the instructions of the guide's Dockerfile, with their arguments."""
    (block,) = _BLOCK.findall((CHECKOUT / "docs" / "guides" / "images.md").read_text(encoding="utf-8"))
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        if line and not line.startswith("#"):
            name, _, argument = line.partition(" ")
            yield name, argument


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[CopiedMachine]:
    (tmp_path / "layers").mkdir()
    with CopiedMachine(tmp_path / "layers") as machine:
        yield machine


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """Return a folder with this package, in place of the index."""
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path / "wheels")]
    subprocess.run([*command, str(CHECKOUT)], check=True)
    return tmp_path / "wheels"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    spark = own_session("images", "local[2]")
    spark.sql(
        f"CREATE TABLE delta.`{tmp_path}/orders` USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true') "
        "AS SELECT CAST(id AS int) AS quantity FROM range(100)"
    )
    spark.stop()
    return tmp_path / "orders"


@pytest.mark.skipif(os.geteuid() != 0, reason="takes root")
def test_first_task_in_an_image_of_the_guide_needs_no_network(
    machine: CopiedMachine, wheels: Path, table: Path
) -> None:
    given = dict(instructions())
    airflow = given["FROM"].partition(":")[2]
    environment = {
        **of_machine(),
        "AIRFLOW_HOME": "/opt/airflow",
        "AIRFLOW_VERSION": airflow,
        "LANG": "C.UTF-8",
        "PATH": f"{_HOME}/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "PIP_CONSTRAINT": str(CHECKOUT / "constraints.txt"),  # the image has these already
        "PIP_FIND_LINKS": str(wheels),
    }
    closed = [str(folder) for folder in (*Path(sys.executable).resolve().parents, *table.parents)]
    machine.run(["sh", "-c", _BASE, "sh", *closed], environment=environment)
    python = os.path.realpath(sys.executable)
    machine.run([python, "-m", "venv", f"{_HOME}/.local"], user=_AIRFLOW, environment=environment)

    user, said = _AIRFLOW, ""
    for name, argument in instructions():
        if name == "USER":
            user = 0 if argument == "root" else _AIRFLOW
        elif name == "ENV":
            environment |= dict(assignment.split("=", 1) for assignment in shlex.split(argument))
        elif name == "RUN":
            home = "/root" if user == 0 else _HOME
            said = machine.run(["bash", "-c", argument], user=user, environment={**environment, "HOME": home})
        else:
            assert name == "FROM", f"{name} is not tried here"
    assert user == _AIRFLOW
    assert "Class archive: /opt/airflow/delta_provider/" in said

    machine.run(["chown", "-R", str(_TASKS), str(table)], environment=environment)
    logs = table.parent / "logs"
    machine.run(["install", "-d", "-o", str(_TASKS), str(logs)], environment=environment)
    done = json.loads(
        machine.run(
            ["python", str(CHECKOUT / "tests" / "images" / "first_task.py"), str(table), str(logs)],
            user=_TASKS,
            environment={
                **environment,
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                "HOME": "/nonexistent",
            },
            network=False,
        ).splitlines()[-1]
    )
    assert (done["user"], done["state"]) == (_TASKS, "success")
    assert done["classes"] > 5000
    assert done["from_archive"] > 0.9 * done["classes"]
    assert all(jar.startswith("/opt/airflow/delta_provider/") for jar in done["delta_jars"])
