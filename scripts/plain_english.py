"""Finds sentences that people read twice, in docstrings, messages and pages: ``python -m scripts.plain_english``.

The patterns find habits, not every slip.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "airflow_delta_provider"
_START = r"(?:^|(?<=[.:;]\s)|(?<=\n))\s*"
_VERBS = (
    r"is|are|has|have|was|were|need\w*|take\w*|make\w*|read\w*|write\w*|hold\w*|can|may|must|stand\w*|goes|came|comes|"
    r"becomes?|became|runs?"
)
_SUBJECTS = r"a|an|the|it|its|they|this|that|each|one|no|engines?|Spark|others?|people"
_CONDITIONS = (
    r"(?:,|;|None|nothing|only|but|except|also|even|so|True|False|empty|it|them|and) where "
    r"(?:it|there|they|the|a|an|no|none|nothing|one|that|this|its|all|only|Spark|engines?|\w+s?)\b"
)
#: Each habit, with the pattern that finds it.
HABITS = {
    "a sentence that begins with What, How many, Whatever or Whoever": re.compile(
        rf"{_START}(?:What|How many|How much|Whatever|Whoever|That which)\b(?![^.\n]*\?)", re.MULTILINE
    ),
    "'what …' instead of a noun": re.compile(rf"(?<=\w)[,:]?\s+what (?:{_VERBS}|{_SUBJECTS})\b"),
    "'where' instead of if or when": re.compile(_CONDITIONS),
    "a parameter that no noun describes": re.compile(
        r":param \w+: (?:of|that|by|as|those|what|where|whose|whether|how)\b"
    ),
    "'said of', 'told of', 'known of' instead of about or for": re.compile(
        r"\b(?:said|says?|told|tells?|knows?|known|asked|asks?|declared|heard) of\b"
    ),
    "'that which', 'those that', 'that of'": re.compile(r"\b(?:that which|those (?:that|which|of)|that of)\b"),
    "'of which', 'by whom' and the like": re.compile(r"\b(?:of|by|to|in|from|with|under|for) (?:which|whose|whom)\b"),
    "a predicate before its subject, 'anew', 'but for', ', too'": re.compile(
        rf"{_START}(?:Refused|Supported|Tested|Forgotten|Known|Left out|Compared|Taken) (?:is|are)\b|"
        r", too[,.;]|\banew\b|\bbut for\b|\bat a glance\b",
        re.MULTILINE,
    ),
}
#: What a call is named by that takes a message, and the keywords of texts for people in any call.
_MESSAGES = re.compile(r"found|error|warning|undecided|\w*Error")
_TEXTS = frozenset({"help", "description", "effect", "remedy", "title", "hint"})


@dataclass(frozen=True)
class Text:
    """A docstring, a message, or a sentence of a page.

    :param line: of its file, from 1
    """

    file: Path
    line: int
    text: str

    @property
    def habits(self) -> list[str]:
        """Return the habits that it has."""
        return [name for name, pattern in HABITS.items() if pattern.search(self.text)]

    def __str__(self) -> str:
        return f"{self.file.relative_to(CHECKOUT)}:{self.line}: {self.habits[0]}: {' '.join(self.text.split()):.200}"


def docstrings(file: Path, tree: ast.Module) -> Iterator[Text]:
    """Yield the docstrings of a module, those of attributes included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", ())
        for before, here in pairwise(body if isinstance(body, list) else ()):
            match before, here:
                case ast.Assign() | ast.AnnAssign(), ast.Expr(ast.Constant(str(text))):
                    yield Text(file, here.lineno, text)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            text = ast.get_docstring(node)
            if text:
                yield Text(file, node.body[0].lineno, text)


def messages(file: Path, tree: ast.Module) -> Iterator[Text]:
    """Yield the messages, titles and help texts of a module."""
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        takes_message = _MESSAGES.fullmatch(getattr(call.func, "attr", getattr(call.func, "id", "")))
        keywords = [each.value for each in call.keywords if takes_message or each.arg in _TEXTS]
        for value in (*(call.args if takes_message else ()), *keywords):
            parts = value.values if isinstance(value, ast.JoinedStr) else [value]
            text = "…".join(
                part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
            )
            if " " in text:
                yield Text(file, value.lineno, text)


def sentences(folder: Path) -> Iterator[Text]:
    """Yield the sentences of all pages below a folder, and of those at the top of the checkout; code is left out."""
    for file in (*sorted(folder.rglob("*.md")), *sorted(CHECKOUT.glob("*.md"))):
        if file.name == "CHANGELOG.md":
            continue  # it says how things were
        text = re.sub(r"^```.*?^```", _blank, file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for found in re.finditer(r"[^|\n]+(?:\n(?![\n|#*-]|\d\.)[^|\n]+)*", text):
            start = text.count("\n", 0, found.start()) + 1
            for sentence in re.split(r"(?<=[.?!:;])\s+", found[0]):
                if len(sentence.split()) > 2:
                    yield Text(file, start, sentence)


def _blank(found: re.Match[str]) -> str:
    return "\n" * found[0].count("\n")


def main() -> int:
    """Print the sentences that have a habit; return 1 if there are more than a limit allows."""
    parser = argparse.ArgumentParser(prog="python -m scripts.plain_english", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--list", action="store_true", help="print each sentence, even if the limits hold")
    parsed = parser.parse_args()
    failed = False
    modules = [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in sorted(PACKAGE.rglob("*.py"))]
    kinds = {
        "docstrings": (3.0, [text for module in modules for text in docstrings(*module)]),
        "messages": (0.0, [text for module in modules for text in messages(*module)]),
        "sentences of pages": (2.0, list(sentences(CHECKOUT / "docs"))),
    }
    for kind, (limit, texts) in kinds.items():
        found = [text for text in texts if text.habits]
        rate = 100 * len(found) / max(1, len(texts))
        if parsed.list or rate > limit:
            print(*found, sep="\n")
        print(f"{kind}: {len(found)} of {len(texts)}, {rate:.1f} per 100 (limit {limit:g})")
        failed |= rate > limit
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
