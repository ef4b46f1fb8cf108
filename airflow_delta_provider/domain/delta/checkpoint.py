"""The files of a checkpoint. PROTOCOL.md, Checkpoints."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_delta_provider.domain.delta.commit import Action


@dataclass(frozen=True)
class CheckpointPart:
    """One file of a checkpoint.

    :param name: in ``_delta_log``, or in ``_delta_log/_sidecars``
    :param size: bytes
    :param actions: to be gone through once
    """

    name: str
    size: int
    actions: Iterable[Action]
    is_sidecar: bool = False
