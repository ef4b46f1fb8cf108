"""A copy of this machine in which an image is built as Docker would do it, and of which nothing stays."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_READY = "READY"
#: Layers in memory, below them the machine; what a process needs to know of the system is the machine's own.
_MAKE = f"""
set -eu
mount -t tmpfs tmpfs "$1"
mkdir "$1/upper" "$1/work" "$1/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
for folder in proc sys dev; do mount --rbind "/$folder" "$1/root/$folder"; done
echo {_READY}
exec cat
"""


class CopiedMachine:
    """A context manager; takes root and Linux.

    :param folder: an empty folder for the layers
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> CopiedMachine:
        self._keeper = subprocess.Popen(
            ["unshare", "--mount", "--", "sh", "-c", _MAKE, "sh", str(self._folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline().strip() == _READY
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.communicate()  # the end of its input is that of the copy

    def run(
        self, command: Sequence[str], *, user: int = 0, environment: Mapping[str, str], network: bool = True
    ) -> str:
        """Run a command there, and return what it prints.

        :param user: its number; the group is root's, as in Airflow's images
        """
        inside = ["chroot", str(self._folder / "root")]
        inside += ["setpriv", f"--reuid={user}", "--regid=0", "--clear-groups", "--", *command]
        if not network:
            inside = ["unshare", "--net", "--", "sh", "-c", 'ip link set lo up; exec "$@"', "sh", *inside]
        ran = subprocess.run(
            ["nsenter", "--mount", f"--target={self._keeper.pid}", "--", *inside],
            env=dict(environment),
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}: {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran.stdout


def of_machine() -> Mapping[str, str]:
    """Return what programs need to know of the machine's network, and nothing of its Airflow, Spark or Python."""
    names = ("CERT", "CA_BUNDLE", "PROXY", "INDEX_URL")
    return {name: value for name, value in os.environ.items() if any(word in name.upper() for word in names)}
