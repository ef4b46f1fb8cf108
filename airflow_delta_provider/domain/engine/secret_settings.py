"""Settings that must not be shown: they are recognized by the words of their names and by the form of their values.

The rules fit names from Spark, Hadoop's connectors, JDBC, catalogs and similar software. The only question about a
name is whether its value may be shown. Hiding a harmless value costs little, and showing a secret one costs a lot.
Still, values that people need to see are shown: endpoints, classes, switches, paths.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

#: Text shown instead of a secret.
HIDDEN = "******"
#: Value of ``spark.redaction.regex``, which Spark applies to its web UI, event logs and log lines; in Java's syntax.
REDACTION_REGEX = (
    "(?i)secret|password|passwd|passphrase|passcode|token|credential|authorization|jaas|api[._-]?key"
    "|(access|account|auth|fernet|licen[cs]e|service|shared|private|encryption|provided)[._-]?key|azure[.]sas"
    "|cookie|x[._-]auth|auth[._-]?header|webhook|connection[._-]?string|alchemy[._-]conn|airflow[._-]conn"
    "|[._-]pat$|(^|[._-])dsn$|keypass|keyfile[._-]?dict|service[._-]?account$|prox(y|ies)$"
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
#: Parts of a word that make it secret, whatever surrounds them.
_SECRET_WITHIN = re.compile(r"password|passwd|passphrase|passcode|secret|apikey|accesskey|privatekey|keypass")
#: Words, and ends of words, that are secret.
_SECRET_END = re.compile(r"(?:tokens?|credentials?|authorization|bearer|cookies?|jaas|pwd)$")
#: Words before ``key`` that make it a secret one.
_KEYS = frozenset(
    """
    access account api auth encryption fernet licence license private provided sas service shared signing storage
    """.split()
)
#: Last words that alone mark the value as a secret.
_SECRET_LAST = frozenset({"dsn", "pass", "proxies", "proxy", "sas", "signature"})
#: Pairs of last words that mark the value as a secret.
_SECRET_LAST_TWO = frozenset(
    {
        *(("x", "auth"), ("auth", "header"), ("alchemy", "conn"), ("keyfile", "dict"), ("webhook", "url")),
        *(("webhook", "uri"), ("connection", "string"), ("conn", "string"), ("conn", "str")),
        ("service", "account"),
    }
)
#: Last words that mark the value as a secret only after another word: ``GITHUB_PAT`` is secret, a column ``pat`` is
#: not.
_SECRET_AFTER_ANOTHER = frozenset({"pat", "webhook"})
#: Words after a secret word that show that the value is only information about the secret.
_ABOUT = re.compile(
    "algorithm|bits|class|dir|directory|enabled?|endpoint|expires|expiry|file|format|handler|impl|interval|length|mode"
    "|ms|path|providers?|ratio|refresh|regex|server|size|timeout|ttl|type|uri|url|version"
)
_HARMLESS = frozenset({"spark.kerberos.renewal.credentials", "spark.ui.reverseProxy"})

#: The part before the value, and the value: for ``name=value``, for ``"name": "value"``, for the same in a string of
#: JSON, for ``name: value`` at the start of a line and within one, and for ``--name value``. A name begins only where
#: no other name continues, and a repetition ends where the next name begins, so that no part of a text is read again
#: for each other part.
_PAIRS = (
    (r"(?<![/\w.-])([\w.-]+)\s*=\s*", r"""(["'])(?P<secret>[^"']+)|(?P<plain>[^\s,;&"']+)"""),
    (r"(?<=/)([\w.-]+)=", r"(?P<plain>[^/\s,;&\"']+)"),  # a partition's folder: the path goes on after it
    (r"""["']([A-Za-z][\w.-]*)["']\s*:\s*""", r"""(["'])(?P<secret>(?:\\.|(?!\1).)+)"""),
    (r"""(?<!\\)\\+["']([A-Za-z][\w.-]*)\\+["']\s*:\s*""", r"""\\+(["'])(?P<secret>.+?)(?<!\\)\\+\1"""),
    (r"(?<![\w-])--([A-Za-z][\w.-]*)[ \t]+", r"""(["'])(?P<secret>[^"']+)|(?P<plain>[^\s\"'-]\S*)"""),
    (r"(?im)^[ \t>-]*((?:set-)?cookie|(?:proxy-)?authorization|x-auth[\w-]*|passphrase):", r"(?P<plain>[^\n]+)"),
    (r"(?m)^[ \t>-]*([A-Za-z][\w.-]*)[ \t]*:[ \t]+", r"(?m)(?P<plain>[^\s\"']\S*)[ \t]*$"),  # but not a sentence
    (r"(?<![\w.\"'-])([A-Za-z][\w.-]*):[ \t]+", r"(?P<plain>(?![A-Za-z][a-z]*\b(?![\d._/+=-]))[^\s,;&\"'()\[\]{}]+)"),
)
#: Forms of values that are secret in whole or in part; the group ``secret`` is hidden.
_VALUES = (
    r"(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*://[^/@:\s]*:(?P<secret>[^/\s]+)@",  # a URI's user and password
    r"(?<![a-z0-9+.-])(?:git\+)?https?://(?P<secret>[^/@:\s]+)@",  # a token in place of the user
    r"jdbc:oracle:\w+:[^/\s@]{1,128}/(?P<secret>[^@\s]{1,128})@",
    r"\b(?:bearer|basic)\s+(?P<secret>[a-z0-9._~+/=-]{8,})",
    r"\bsig=(?P<secret>[^&\s\"']+)",  # a shared access signature of Azure
    r"\b(?P<secret>(?-i:(?:AKIA|ASIA)[A-Z0-9]{16}))\b",
    r"(?<![\w-])(?P<secret>eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)",  # a JSON web token
    r"\b(?P<secret>dapi[0-9a-f]{32})\b",
    # Tokens of GitHub, GitLab, Slack, npm, PyPI, SendGrid, Stripe, Google and Vault, by their prefixes.
    r"(?<![\w-])(?P<secret>(?-i:gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{20,}|xox[abeoprs]-[\w-]{10,}"
    r"|xapp-[\w-]{10,}|npm_\w{36}|pypi-[\w-]{50,}|SG\.[\w-]{20,}\.[\w-]{20,}|[sr]k_live_\w{20,}|AIza[\w-]{35}"
    r"|hv[bs]\.[\w-]{20,}))",
    # Addresses that are secrets: webhooks of Slack, Discord and Teams.
    r"\bhooks\.slack\.com/[a-z]+/(?P<secret>[\w/-]+)",
    r"\bdiscord(?:app)?\.com/api/webhooks/(?P<secret>[\w/-]+)",
    r"\b(?:webhook\.office\.com|outlook\.office(?:365)?\.com/webhook)/(?P<secret>[^\s\"']+)",
    r"-----BEGIN [a-z ]*PRIVATE KEY-----(?P<secret>.+?)(?:-----END|$)",
)


@lru_cache(256)  # a log repeats few names
def is_secret(name: str) -> bool:
    """Return True if a setting of this name has a secret value."""
    if name in _HARMLESS:
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    if tuple(words[-2:]) in _SECRET_LAST_TWO or words[:2] == ["airflow", "conn"]:
        return True
    if not words or _ABOUT.fullmatch(words[-1]):
        return False
    if len(words) > 1 and words[-1] in _SECRET_AFTER_ANOTHER:
        return True
    return words[-1] in _SECRET_LAST or any(_is_secret(words, index) for index in range(len(words)))


def shown(name: str, value: str) -> str:
    """Return a setting's value, masked if it is secret."""
    return HIDDEN if is_secret(name) else masked_text(value)


def masked_text(text: str) -> str:
    """Return a string, such as a line of a log, without the secrets that are recognizable by form or name."""
    parts, end = [], 0
    for start, stop in sorted(_spans(text)):
        if start >= end:
            parts += [text[end:start], HIDDEN]
        end = max(end, stop)
    return "".join([*parts, text[end:]])


_MOST_TEXT = 300


def excerpt(message: str) -> str:
    """Return the beginning of a message of another program: at most 300 characters in one line, without secrets."""
    return masked_text(" ".join(message.split()))[:_MOST_TEXT]


def secrets_of(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield the values, and parts of values, that must not be shown anywhere."""
    for name, value in settings.items():
        if is_secret(name):
            yield value
            continue
        for start, stop in _spans(value):
            yield value[start:stop]


@cache
def _patterns() -> tuple[Sequence[re.Pattern[str]], Sequence[tuple[re.Pattern[str], re.Pattern[str]]]]:
    """Return the patterns of values, and the patterns of names with values, compiled when first needed."""
    values = [re.compile(pattern, re.DOTALL | re.IGNORECASE) for pattern in _VALUES]
    return values, [(re.compile(named), re.compile(valued)) for named, valued in _PAIRS]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each secret in a string."""
    values, pairs = _patterns()
    for pattern in values:
        yield from (match.span("secret") for match in pattern.finditer(text))
    for named, valued in pairs:
        end = 0
        for name in named.finditer(text):
            # A name within the last value is hidden with it.
            if name.start() >= end and is_secret(name[1]) and (value := valued.match(text, name.end())):
                end = value.end()
                yield value.span(value.lastgroup or "secret")


def _is_secret(words: list[str], index: int) -> bool:
    word, after = words[index], words[index + 1] if index + 1 < len(words) else ""
    if _ABOUT.fullmatch(after):
        return False
    if word in ("key", "keys"):
        return index > 0 and words[index - 1] in _KEYS
    if word == "sas":  # fs.azure.sas.CONTAINER.ACCOUNT; for longer names the next words decide
        return index > 0 and words[index - 1] == "azure" and after not in ("token", "fixed")
    if word == "auth":
        return words[index - 1 :] == ["redis", "auth"]
    return bool(_SECRET_WITHIN.search(word) or _SECRET_END.search(word))
