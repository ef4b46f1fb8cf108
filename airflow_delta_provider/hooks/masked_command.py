"""A command line as it may be logged: without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow.sdk.log import mask_secret

from airflow_delta_provider.domain.engine.secret_settings import masked_text, secrets_of, shown

#: Values of settings that are called like secrets and say how these are found.
_WORDS = frozenset({"true", "false", "none", "null", "simple", "kerberos", "oauth2", "ccache", "keytab"})


def masked(command: Iterable[str]) -> list[str]:
    """Return the words of a command without secrets; of a setting (``name=value``) the name is shown."""
    return [_masked(word) for word in command]


def hide_secrets(settings: Mapping[str, object]) -> None:
    """Have Airflow hide the secrets of settings wherever they turn up: in logs, rendered fields and errors."""
    texts = {str(name): str(value) for name, value in settings.items() if value is not None}
    for secret in secrets_of(texts):
        if secret.lower() not in _WORDS:
            mask_secret(secret)


def _masked(word: str) -> str:
    name, equals, value = word.partition("=")
    return f"{name}={shown(name, value)}" if equals and not name.strip().count(" ") else masked_text(word)
