"""The option that gives the policy for migrations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_delta_provider.domain.request.option import option
from airflow_delta_provider.domain.request.options import Options
from airflow_delta_provider.domain.request.request_error import RequestError
from airflow_delta_provider.domain.request.value import Document, as_json
from airflow_delta_provider.domain.spec.policy import Policy, PolicyError


class PolicyFile(Document):
    """What a policy file holds."""

    def checked(self, option: str, value: Any) -> Any:
        """Return the content as plain JSON."""
        if value is None:
            return None
        content = as_json(value)
        try:
            Policy.parse(content)
        except PolicyError as error:
            raise RequestError("{option}: {error}", option=option, error=error) from None
        return content


@dataclass(frozen=True, kw_only=True)
class HasPolicy(Options):
    """Options of a kind whose findings a policy weighs."""

    policy: Mapping[str, Any] | None = option(
        PolicyFile(),
        "what rules about plans and drift weigh, what is accepted, and which plans need no approval, a YAML or JSON "
        "file",
        metavar="FILE",
    )
