#!/usr/bin/env python3
"""Writes a file as a comment on the pull request of a GitHub workflow; a later run updates the comment.

It needs the standard library only, and the environment of a workflow: GITHUB_TOKEN, GITHUB_REPOSITORY,
GITHUB_EVENT_PATH and GITHUB_API_URL.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

#: GitHub refuses a longer comment.
MOST = 65_536
_PAGE = 100
_CUT = "\n\n… The rest is in the summary of the run.\n"


def main(name: str, file: str) -> int:
    """Write or update the comment, and return the exit code.

    :param name: name of the comment: each name has one comment
    :param file: file with its text, in Markdown
    """
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    number = event.get("pull_request", {}).get("number")
    if number is None:
        print("There is no pull request to comment on.")
        return 0
    mark = f"<!-- {name} -->"
    body = _body(mark, Path(file).read_text(encoding="utf-8"))
    comments = f"repos/{os.environ['GITHUB_REPOSITORY']}/issues/{number}/comments"
    try:
        known = _find(comments, mark)
        if known is None:
            _ask("POST", comments, {"body": body})
        else:
            _ask("PATCH", f"repos/{os.environ['GITHUB_REPOSITORY']}/issues/comments/{known}", {"body": body})
    except urllib.error.HTTPError as error:
        print(f"::error::The comment could not be written: {error}. The token needs pull-requests: write.")
        return 1
    except urllib.error.URLError as error:
        print(f"::error::The comment could not be written: {error.reason}.")
        return 1
    return 0


def _body(mark: str, text: str) -> str:
    room = MOST - len(mark) - 1
    return f"{mark}\n{text if len(text) <= room else text[: room - len(_CUT)] + _CUT}"


def _find(comments: str, mark: str) -> int | None:
    """Return the id of the comment that an earlier run wrote."""
    page = 1
    while True:
        found = _ask("GET", f"{comments}?per_page={_PAGE}&page={page}")
        for comment in found:
            if str(comment["body"]).startswith(mark):
                return int(comment["id"])
        if len(found) < _PAGE:
            return None
        page += 1


def _ask(method: str, path: str, body: Any = None) -> Any:
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(
        f"{api}/{path}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
