"""Command lines without secrets, for logs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from airflow.sdk.log import mask_secret

from airflow_delta_provider.domain.engine.secret_settings import masked_text, secrets_of, shown

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
