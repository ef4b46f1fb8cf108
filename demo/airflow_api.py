"""Airflow's API, as an administrator uses it."""

from __future__ import annotations

import json
import urllib.request
from typing import Any


class AirflowApi:
    """The API of a server of which all users are administrators.

    :param address: of the server, without a slash at its end
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._token = ""

    def sign_in(self) -> None:
        """Get the token that further calls are made with.

        :raises OSError: if the server does not answer yet
        """
        self._token = self._token or self.call("GET", "/auth/token")["access_token"]

    def call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return what the API answers.

        :raises urllib.error.HTTPError: if it refuses
        """
        request = urllib.request.Request(
            f"{self._address}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json", "Authorization": f"Bearer {self._token}"},
        )
        with urllib.request.urlopen(request, timeout=120) as response:
            return dict(json.load(response))
