"""What came of the tests, kept in a file of the repository."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

FILE = Path(__file__).with_name("results.json")


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of an entry.

    :param versions: what it is made of
    :param date: when it was tried, ISO 8601
    :param refused: what was asked and refused, as it should be
    """

    versions: Mapping[str, str]
    date: str
    passed: int
    failed: int
    skipped: int
    refused: tuple[str, ...] = ()

    @classmethod
    def of(cls, versions: Mapping[str, str], file: Path) -> Result:
        """Read the report that pytest wrote, in the form of JUnit."""
        (suite,) = ElementTree.parse(file).getroot().iter("testsuite")
        counts = ("tests", "failures", "errors", "skipped")
        total, failures, errors, skipped = (int(suite.get(count, 0)) for count in counts)
        return cls(
            versions=versions,
            date=date.today().isoformat(),
            passed=total - failures - errors - skipped,
            failed=failures + errors,
            skipped=skipped,
            refused=tuple(dict.fromkeys(_refused(suite))),
        )


def _refused(suite: ElementTree.Element) -> Iterator[str]:
    for known in suite.iter("property"):
        if known.get("name") == "refused":
            yield from filter(None, known.get("value", "").split("; "))


def read() -> list[Result]:
    """Return the results of all entries, as they were tried last."""
    kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else []
    return [Result(**{**each, "refused": tuple(each["refused"])}) for each in kept]


def keep(result: Result, order: list[Mapping[str, str]]) -> None:
    """Write a result in place of the earlier one of the same versions.

    :param order: the versions of all entries; results of others are left out
    """
    known = {tuple(each.versions.items()): each for each in [*read(), result]}
    found = [known[key] for versions in order if (key := tuple(versions.items())) in known]
    FILE.write_text(json.dumps(list(map(asdict, found)), indent=1) + "\n", encoding="utf-8")
