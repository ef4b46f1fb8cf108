"""The command of a submission: hidden arguments, quiet logs, and a supervisor that is lost.

Airflow counts such a task as failed and starts another try, while the process would continue to wait for
``spark-submit``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psutil
from airflow.sdk.log import mask_secret

from airflow_delta_provider.domain.engine.secret_settings import masked_text, secrets_of, shown
from airflow_delta_provider.exceptions import DeltaRequestError

#: Harmless values of settings with names like secrets: they describe how a secret is found.
_WORDS = frozenset({"true", "false", "none", "null", "simple", "kerberos", "oauth2", "ccache", "keytab"})


def masked(command: Iterable[str]) -> list[str]:
    """Return the words of a command without secrets. The name of a setting (``name=value``) is kept."""
    return [_masked(word) for word in command]


def hide_secrets(settings: Mapping[str, object]) -> None:
    """Make Airflow hide the secrets in settings everywhere: in logs, rendered fields and errors."""
    texts = {str(name): str(value) for name, value in settings.items() if value is not None}
    for secret in secrets_of(texts):
        if secret.lower() not in _WORDS:
            mask_secret(secret)


def _masked(word: str) -> str:
    name, equals, value = word.partition("=")
    return f"{name}={shown(name, value)}" if equals and not name.strip().count(" ") else masked_text(word)


class EchoFilter:
    """A logger that drops echoes of ``echo``, and repetitions of the last message with arguments."""

    echo: str | None = None

    def __init__(self, logger: Any) -> None:
        self.logger = logger
        self._last: tuple[Any, ...] = ()

    def info(self, message: str, *args: Any, **kwargs: Any) -> None:
        """Log the message, unless it is the echo or a repetition."""
        if (args and (message, *args) == self._last) or (not args and message == self.echo):
            return
        self._last = (message, *args) if args else self._last
        self.logger.info(message, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.logger, name)


#: Arguments of Airflow's hook that this provider's hook sets.
OWNED_ARGUMENTS = ("application", "java_class", "application_args")


def refuse_owned_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that this provider sets itself.

    :raises DeltaRequestError: naming the first one
    """
    for name in OWNED_ARGUMENTS:
        if arguments.get(name):
            raise DeltaRequestError(
                f"{name} is set by this provider: the job that runs is its own. Leave {name} out; to run code of your "
                "own on Spark use SparkSubmitOperator."
            )


#: Seconds between two polls.
_EVERY = 2.0


@contextmanager
def supervised(end: Callable[[], None]) -> Iterator[None]:
    """Call ``end``, once, if the supervisor ends before the block does.

    This has no effect if the process has no supervisor, as in ``dag.test()``.
    """
    if not _has_supervisor():
        yield
        return
    done = threading.Event()
    parent = os.getppid()

    def watch() -> None:
        while not done.wait(_EVERY):
            if os.getppid() != parent:
                end()
                return

    threading.Thread(target=watch, name="supervisor-watch", daemon=True).start()
    try:
        yield
    finally:
        done.set()


def _has_supervisor() -> bool:
    """Return True if this is a task's process, which communicates with its supervisor over a socket."""
    runner = sys.modules.get("airflow.sdk.execution_time.task_runner")
    return getattr(getattr(runner, "SUPERVISOR_COMMS", None), "socket", None) is not None


def with_descendants(process: subprocess.Popen[Any] | None) -> list[psutil.Process]:
    """Return a running process and all its descendants; nothing if it has ended."""
    if process is None or process.poll() is not None:
        return []
    try:
        root = psutil.Process(process.pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def kill(processes: Sequence[psutil.Process]) -> None:
    """Kill processes, and wait at most 10 seconds until they have ended."""
    for process in processes:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(processes, timeout=10)
