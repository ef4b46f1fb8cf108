"""The command that prepares an image for tasks. It works only if Airflow is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from airflow_delta_provider.command_line.exit_code import ExitCode, UsageError
from airflow_delta_provider.command_line.parser import warm_up_parser
from airflow_delta_provider.command_line.terminal import Terminal

_MB = 1_000_000


def run_warm_up(words: Sequence[str], terminal: Terminal) -> int:
    """Put jars and classes in place, print their places, and return the exit code.

    :raises UsageError: if that is not possible with these arguments, or on this machine
    """
    parsed = warm_up_parser().parse_args(words)
    try:
        from airflow_delta_provider.domain.engine.spark_library import UnknownSparkError
        from airflow_delta_provider.exceptions import DeltaProviderError, DeltaRequestError
        from airflow_delta_provider.hooks.settings_file import NoSparkError
        from airflow_delta_provider.hooks.warm_up import FolderError, WarmUpError, warm_up
    except ModuleNotFoundError as error:
        missing = "Airflow" if (error.name or "").startswith(__package__.partition(".")[0]) else error.name
        raise UsageError(
            f"warm-up prepares Airflow workers, but {missing} is not installed here. Run it in the environment of the "
            "tasks."
        ) from None
    try:
        warmed = warm_up(
            None if parsed.folder is None else Path(parsed.folder),
            spark_binary=parsed.spark_binary,
            delta_jars=parsed.delta_jars,
            repositories=parsed.repositories,
            jars_only=parsed.jars_only,
            progress=terminal.note,
        )
    except (DeltaRequestError, FolderError) as error:
        raise UsageError(str(error)) from None
    except (DeltaProviderError, NoSparkError, UnknownSparkError, WarmUpError) as error:
        terminal.error(str(error))
        return ExitCode.FAULT
    lines = [_line("Delta's jars", warmed.jars)] if warmed.jars else []
    lines += [_line("Class archive", [warmed.archive])] if warmed.archive else []
    printed = terminal.result(f"{line}\n" for line in [*lines, *warmed.notes])
    return ExitCode.OK if printed else ExitCode.FAULT


def _line(what: str, files: Sequence[Path]) -> str:
    size = sum(file.stat().st_size for file in files) / _MB
    if len(files) == 1:
        return f"{what}: {files[0]}, {size:.1f} MB"
    return f"{what}: {', '.join(sorted({str(file.parent) for file in files}))}, {len(files)} files, {size:.1f} MB"
