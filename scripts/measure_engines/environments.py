"""Environments, each with a release of an engine: virtual ones of Python, jars of Kernel, and servers of Trino."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from scripts.measure_engines import trino
from scripts.measure_engines.java_kernel import CLASSPATH
from scripts.measure_engines.releases import Measured

_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>measured</groupId>
  <artifactId>measured</artifactId>
  <version>1</version>
  <dependencies>{}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def environment(release: Measured, folder: Path) -> str:
    """Return the Python of a virtual environment that has a release."""
    place = folder / f"{release.name.replace(' ', '-')}-{release.version}"
    python = place / "bin" / "python"
    if release.engine == "trino":
        trino.java()  # fails before anything is measured
    if not (place / ".installed").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *release.packages],
            check=True,
        )
        if release.engine in ("kernel", "sharing"):
            _resolve(release.jars, place)
        if release.engine == "trino":
            trino.install(release.jars, place)
        (place / ".installed").touch()
    return str(python)


def _resolve(jars: str, place: Path) -> None:
    """Download jars and those that they need by Maven; list them in a file of the environment."""
    dependencies = "".join(_DEPENDENCY.format(*jar.split(":")) for jar in jars.split(","))
    pom = place / "pom.xml"
    pom.write_text(_POM.format(dependencies), encoding="utf-8")
    goal = ["dependency:build-classpath", f"-Dmdep.outputFile={place / CLASSPATH}"]
    subprocess.run(["mvn", "--quiet", "--batch-mode", "--file", str(pom), *goal], check=True)
