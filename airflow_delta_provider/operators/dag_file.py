"""Files on the worker that a DAG names in an argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from airflow.providers.common.compat.sdk import Context

from airflow_delta_provider.access import Access
from airflow_delta_provider.exceptions import DeltaRequestError
from airflow_delta_provider.operators.rendered import is_literal
from airflow_delta_provider.operators.yaml_file import names_file


class DagFiles:
    """The files that the arguments of an operator name, each with whether a template is in its name.

    :param arguments: by name, as the DAG has them
    :param names: whether an argument names a file
    """

    def __init__(self, arguments: Mapping[str, Any], names: Callable[[str, Any], bool] | None = None) -> None:
        is_file = names or (lambda _, value: names_file(value))
        self._bounded = {name: not is_literal(file) for name, file in arguments.items() if is_file(name, file)}

    def path(self, operator: Any, argument: str, value: str, context: Context | None) -> Path:
        """
        Return the file that an argument names, relative to the DAG's file.

        :param context: of the task; None while the DAG is parsed
        :raises DeltaRequestError: if the DAG itself does not name a file there, or it lies where it must not
        """
        if argument not in self._bounded:
            raise DeltaRequestError(
                f"{argument} was rendered to {value!r}. A file is read only where the DAG itself names one: write the "
                "argument so that its own text ends in .yaml or .yml, or in / for a folder of specs."
            )
        return file_of(operator, argument, value, context, bounded=self._bounded[argument])


def file_of(operator: Any, argument: str, value: str, context: Context | None, *, bounded: bool) -> Path:
    """
    Return a file, relative to the DAG's file.

    :param bounded: whether it must lie with the DAGs
    :raises DeltaRequestError: if it lies where it must not
    """
    folder = Path(operator.dag.fileloc).parent if cast("Any", operator).has_dag() else Path()
    file = folder / value
    if context is not None:
        access = Access.of(context)
        bundle = getattr(getattr(context["ti"], "bundle_instance", None), "path", None) or folder
        if (bounded or access.allowed) and not access.allows_file(file, (folder, Path(bundle))):
            raise DeltaRequestError(
                f"{argument} is {value!r}, which lies neither with the DAGs nor in the allowed locations, links "
                "followed. Put the file below the folder of the DAG's file, or of its bundle."
            )
    return file
