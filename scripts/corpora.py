"""Audits every Delta log below a folder, and compares what is found with what was judged: ``make corpora LOGS=DIR``.

``python -m scripts.corpora DIR [--write]`` is for logs that many engines wrote, such as the test resources of public
repositories. Logs are known by their content, wherever they lie. Each finding has to be in ``corpora.toml``, with the
reason why it is right; ``--write`` adds those that are not, for somebody to judge. The exit code is 1 if a finding was
not judged, or one that was judged is not found any more.

Footers of data files are audited, too. Many of the tables have only a log, so missing data files are not compared.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomllib

from airflow_delta_provider.domain.checks.data_files.files import MISSING
from airflow_delta_provider.domain.request.check_options import AuditOptions
from airflow_delta_provider.domain.request.job_request import JobRequest
from airflow_delta_provider.jobs.process import collect_seldom
from airflow_delta_provider.jobs.run.runner import run
from airflow_delta_provider.jobs.spark.delta import SparkDeltaSession
from airflow_delta_provider.jobs.spark.session import own_session

JUDGED = Path(__file__).with_name("corpora.toml")
UNJUDGED = "not judged yet"


@dataclass(frozen=True)
class Log:
    """A log of the corpora.

    :param digest: of the names and contents of its files
    """

    table: Path
    digest: str


def logs(folder: Path) -> Iterator[Log]:
    """Yield each log below a folder; of those that are the same, the first."""
    seen = set()
    for directory in sorted(folder.rglob("_delta_log")):
        files = sorted(file for file in directory.rglob("*") if file.is_file() and not file.name.endswith(".crc.crc"))
        digest = hashlib.sha256()
        for file in files:
            digest.update(str(file.relative_to(directory)).encode() + b"\0" + file.read_bytes())
        if files and (name := digest.hexdigest()[:16]) not in seen:
            seen.add(name)
            yield Log(directory.parent, name)


def judged() -> dict[str, dict[str, str]]:
    """Return why each finding is right: reasons by code, by the digest of the log."""
    return tomllib.loads(JUDGED.read_text(encoding="utf-8")) if JUDGED.exists() else {}


def audit(found: list[Log]) -> dict[str, dict[str, str]]:
    """Return the message of the first finding of each code, except missing data files, by the digest of the log."""
    collect_seldom()
    session = SparkDeltaSession(own_session("corpora", "local[2]"))
    report = run(JobRequest(tuple(str(log.table) for log in found), AuditOptions(level="footers")), session)
    return {
        log.digest: {f.code: f.message for f in reversed(table.findings) if f.code != MISSING.code}
        for log, table in zip(found, report.tables, strict=True)
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit and compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m scripts.corpora", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="add what was not judged to corpora.toml")
    parsed = parser.parse_args(arguments)
    listed = list(logs(parsed.folder.resolve()))
    if not listed:
        print(f"There is no Delta log below {parsed.folder}.", file=sys.stderr)
        return 2
    known, findings = judged(), audit(listed)
    wrong = 0
    for log in listed:
        reasons, codes = dict(known.get(log.digest, {})), findings[log.digest]
        reasons.pop("log", None)
        name = log.table.relative_to(parsed.folder.resolve())
        for code in sorted(codes.keys() | reasons.keys()):
            reason = reasons.get(code, UNJUDGED)
            if code not in codes or reason == UNJUDGED:
                wrong += 1
                print(f"{log.digest} {name}: {code} {codes.get(code, 'is not found any more: ' + reason)}")
        if parsed.write and codes:
            known[log.digest] = {"log": str(name), **{code: reasons.get(code, UNJUDGED) for code in sorted(codes)}}
    if parsed.write:
        JUDGED.write_text("\n".join(_entry(digest, said) for digest, said in sorted(known.items())), encoding="utf-8")
    flagged = sum(map(bool, findings.values()))
    print(f"{len(listed)} logs, {flagged} with findings; {wrong} findings differ from what was judged.")
    return 1 if wrong else 0


def _entry(digest: str, said: Mapping[str, str]) -> str:
    return "".join([f'["{digest}"]\n', *(f"{key} = {json.dumps(text)}\n" for key, text in said.items())])


if __name__ == "__main__":
    sys.exit(main())
