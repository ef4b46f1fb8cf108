"""``delta-provider warm-up`` for one user, and the first task of another, who has no home and no network."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from airflow_delta_provider.jobs.spark.session import own_session

pytestmark = pytest.mark.soak

#: Airflow takes users with a name only; the entrypoint of its images gives one to the random users of OpenShift.
_USER = pwd.getpwnam("daemon").pw_uid
_NO_NETWORK = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"]


@pytest.fixture
def image() -> Iterator[Path]:
    """Return the folder of an image: an AIRFLOW_HOME of root, to which its group can write, as in Airflow's images."""
    with tempfile.TemporaryDirectory() as folder:  # pytest keeps others out of its own
        for path in (Path(folder), *(Path(folder, "airflow", name) for name in (".", "dags", "logs"))):
            path.mkdir(exist_ok=True)
            path.chmod(0o775)
        yield Path(folder)


def environment(image: Path) -> dict[str, str]:
    kept = {
        name: os.environ[name] for name in ("LANG", "JAVA_HOME", "LD_LIBRARY_PATH", "PYTHONPATH") if name in os.environ
    }
    return {
        **kept,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "AIRFLOW_HOME": str(image / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW_CONN_SPARK_DEFAULT": '{"conn_type": "spark", "host": "local[2]"}',
    }


def warm_up(image: Path, *arguments: str, **more: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "airflow_delta_provider", "warm-up", *arguments],
        env={**environment(image), "HOME": str(image / "builder"), **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def first_task(image: Path, user: int, **more: str) -> Mapping[str, Any]:
    """Run a task as a user, without a network."""
    made = image / "made"
    with_table = image / str(len(list(image.iterdir())))
    shutil.copytree(made, with_table / "orders")
    (with_table / "logs").mkdir()
    for path in (with_table, *with_table.rglob("*")):
        os.chown(path, user, 0)
    ran = subprocess.run(
        [
            *_NO_NETWORK,
            *("setpriv", f"--reuid={user}", "--regid=0", "--clear-groups", sys.executable, "-m"),
            *("tests.images.first_task", str(with_table / "orders"), str(with_table / "logs")),
        ],
        env={**environment(image), "HOME": "/nonexistent", **more},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    done: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    assert (done["user"], done["state"]) == (user, "success"), ran.stdout
    return done


def others_can_run(program: str) -> bool:
    return all(folder.stat().st_mode & 1 for folder in Path(os.path.realpath(program)).parents)


@pytest.mark.skipif(
    os.geteuid() != 0 or not others_can_run(sys.executable), reason="takes root, and a Python that others can run"
)
def test_first_task_of_another_user_takes_jars_and_classes_from_the_image_without_a_network(image: Path) -> None:
    spark = own_session("images", "local[2]")
    spark.sql(
        f"CREATE TABLE delta.`{image}/made` USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true') "
        "AS SELECT CAST(id AS int) AS quantity FROM range(100)"
    )
    spark.stop()
    said = warm_up(image)
    cache = image / "airflow" / "delta_provider"
    assert f"Class archive: {cache}" in said
    before = sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*"))

    done = first_task(image, _USER)

    assert done["classes"] > 5000
    assert done["from_archive"] > 0.9 * done["classes"]
    assert sorted((path, path.stat().st_mtime_ns) for path in cache.rglob("*")) == before
