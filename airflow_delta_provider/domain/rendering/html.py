"""The look of the pages and their scripts.

Pages are light or dark as the reader prefers, and fit screens from the width of a phone up.

``data-theme`` of the root is the reader's choice in Airflow, if a page is shown there.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from airflow_delta_provider import __version__
from airflow_delta_provider.domain.text import visible

_DARK = """
    --paper: #15181c; --ink: #e4e8ec; --dim: #a3acb6; --line: #363d45; --card: #1d2227; --link: #7fb8ff;
    --bad: #ff9c92; --bad-paper: #46201d; --doubt: #f2bf67; --doubt-paper: #3d2f12;
    --good: #84d9a3; --good-paper: #17361f;
"""

STYLE_SHEET = (
    f"""
:root {{
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2126; --dim: #57606a; --line: #d5dae0; --card: #f5f7f9; --link: #0757b5;
  --bad: #b42318; --bad-paper: #fdecea; --doubt: #8a4b00; --doubt-paper: #fff3da;
  --good: #1a6b3a; --good-paper: #e3f5e9;
}}
@media (prefers-color-scheme: dark) {{ :root:not([data-theme=light]) {{{_DARK}}} }}
:root[data-theme=light] {{ color-scheme: light; }}
:root[data-theme=dark] {{ color-scheme: dark;{_DARK}}}
"""
    + """* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 1rem 1.25rem 3rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .75rem; }
h3, h4 { display: inline; font-size: 1rem; font-weight: 600; margin: 0; overflow-wrap: anywhere; }
h3 b, h4 b { font-family: ui-monospace, monospace; }
p { margin: .4rem 0; }
a { color: var(--link); }
code, pre, .version, .codes { font-family: ui-monospace, monospace; font-size: .875em; }
code, .names, .evidence, dd { overflow-wrap: anywhere; }
pre { background: var(--paper); border: 1px solid var(--line); border-radius: .3rem; padding: .6rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere; }
p, li { text-wrap: pretty; }
.evidence { white-space: pre-wrap; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: .2rem; }
[hidden] { display: none !important; }
.dim, .extent, .version, .codes, figcaption, .axis text { color: var(--dim); }

.tiles { display: flex; flex-wrap: wrap; gap: .6rem; list-style: none; margin: 1rem 0; padding: 0; }
.tiles li { border: 1px solid var(--line); border-left-width: .35rem; border-radius: .4rem; padding: .4rem .9rem;
  min-width: 7.5rem; background: var(--card); }
.tiles b { display: block; font-size: 1.5rem; line-height: 1.2; }
.tiles .violated, .tiles .refused, .tiles .fault { border-left-color: var(--bad); }
.tiles .undetermined { border-left-color: var(--doubt); }
.tiles .pass { border-left-color: var(--good); }

.badge, .state { display: inline-block; border-radius: .3rem; padding: 0 .45rem; font-size: .75rem; font-weight: 600;
  line-height: 1.5rem; background: var(--card); border: 1px solid currentColor; }
.state { font-weight: 400; border-color: var(--line); overflow-wrap: anywhere; }
.badge.error, .badge.violated, .badge.refused, .badge.fault { color: var(--bad); background: var(--bad-paper); }
.badge.warning, .badge.undecided, .badge.undetermined { color: var(--doubt); background: var(--doubt-paper); }
.badge.pass, .state.good { color: var(--good); background: var(--good-paper); }
h1 .badge { font-size: 1.1rem; line-height: 2rem; vertical-align: .1em; }

.rules > details, .tables > li { border: 1px solid var(--line); border-radius: .4rem; margin: .4rem 0;
  background: var(--card); scroll-margin-top: .5rem; }
.tables { list-style: none; margin: 0; padding: 0; }
/* Not list items: browsers number those again, one by one, when rows come and go. */
.tables > li { display: block; }
/* What is out of sight is left blank, also in pictures of the page: only where drawing it takes long. */
.tables.many > li { content-visibility: auto; contain-intrinsic-size: auto 2.6rem; }
summary { cursor: pointer; }
.rules > details > summary, .tables > li > details > summary, .row { padding: .45rem .75rem; }
.row { padding-left: 1.8rem; }
.tables h3 { font-weight: 500; }
.extent, .version, .codes { margin-left: .75rem; }
.said, .body { padding: 0 .9rem .6rem 1.8rem; }
.names { margin: 0; padding: 0 .9rem .8rem 3rem; }
.finding { border-top: 1px solid var(--line); padding: .7rem 0; }
.finding .head { display: flex; flex-wrap: wrap; gap: .3rem .5rem; align-items: baseline; margin: 0 0 .3rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0; font-size: .9rem; }
.facts dt { color: var(--dim); }
.facts dd { margin: 0; }
.action summary, .others > summary { color: var(--link); }

#filter { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: center; margin: 0 0 .8rem; }
#filter input[type=search] { font: inherit; width: min(24rem, 100%); padding: .35rem .6rem; color: var(--ink);
  background: var(--paper); border: 1px solid var(--dim); border-radius: .3rem; }
#filter .words { flex: 1 1 18rem; }
#filter .words input { display: block; width: 100%; }
#filter fieldset { display: flex; flex-wrap: wrap; gap: .3rem 1rem; border: 0; margin: 0; padding: 0; }
#filter button, #more { font: inherit; color: var(--link); background: none; border: 1px solid var(--line);
  border-radius: .3rem; padding: .25rem .7rem; cursor: pointer; }

figure { margin: .5rem 0 1rem; overflow: auto hidden; }
.timeline { display: block; font-size: .8rem; overflow: visible; }
.timeline text { fill: currentColor; }
.timeline line, .timeline path { stroke: currentColor; stroke-width: 2; fill: none; stroke-linecap: round; }
.timeline .error { color: var(--bad); }
.timeline .error line, .timeline .undecided line, .timeline .warning line { stroke-width: 3; }
.timeline .warning, .timeline .undecided { color: var(--doubt); }
.timeline .aside, .timeline .axis { color: var(--dim); }
.timeline .fixed { color: var(--good); }
.timeline .before { stroke-dasharray: 1 5; }
.timeline .axis line { stroke-width: 1; }

.timeline .event { color: var(--link); }
.timeline .event text { fill: var(--dim); }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
caption { text-align: left; color: var(--dim); padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 600; }
tbody th { font-weight: 500; }
.wide { overflow-x: auto; }
.wide th, .wide td { overflow-wrap: normal; }
.wide .name { overflow-wrap: break-word; min-width: 12rem; }
.features { width: auto; }
.events, .state-of-table { margin: .3rem 0; }
.plan { border-top: 1px solid var(--line); padding: .7rem 0; }
.plan h4 { display: block; }
.plan summary { color: var(--link); }
.digest { overflow-wrap: anywhere; font-size: .85rem; }
.diff span { display: inline-block; width: 100%; min-height: 1.2em; }
.diff .added { background: var(--good-paper); color: var(--good); }
.diff .removed { background: var(--bad-paper); color: var(--bad); }
.diff .place { color: var(--dim); }
.search { display: flex; flex-wrap: wrap; gap: .6rem 1rem; align-items: end; margin: 0 0 .8rem; }
.search input, .search select, .search button { font: inherit; color: var(--ink); background: var(--paper);
  border: 1px solid var(--dim); border-radius: .3rem; padding: .3rem .6rem; }
.search label { display: flex; flex-direction: column; font-size: .85rem; }
.search .words { flex: 1 1 16rem; }
.notice { border: 1px solid var(--line); border-left: .35rem solid var(--doubt); border-radius: .4rem;
  padding: .4rem .9rem; background: var(--card); overflow-wrap: anywhere; }
.pages { display: flex; gap: 1rem; margin: .8rem 0; }
.skip { position: absolute; left: -100rem; }
.skip:focus { position: static; }

@media (max-width: 40rem) {
  body { padding: .75rem .75rem 2rem; }
  .said, .body { padding-left: .9rem; }
  .names { padding-left: 2rem; }
  .tiles li { flex: 1 1 40%; min-width: 0; }
  .facts { grid-template-columns: 1fr; gap: 0; }
  .facts dd { margin-bottom: .35rem; }
  .tables h3 { display: block; }
}
@media print {
  #filter, nav { display: none; }
  .tables.many > li { content-visibility: visible; }
  .finding { break-inside: avoid; }
  h2, .tables summary { break-after: avoid; }
}
"""
)


#: Separate the parts of a text, and the entries of a part. No text on a page has these characters.
PART, ENTRY = "\x1d", "\x1e"
#: Filters the tables of a page, and draws their rows and contents.
SCRIPT = """
"use strict";
(() => {
  const form = document.getElementById("filter");
  const list = document.querySelector(".tables");
  const shown = document.getElementById("shown");
  const more = document.getElementById("more");
  const step = 200;
  let most = more ? step : Infinity;
  const number = new Intl.NumberFormat("en");
  const left = document.getElementById("left");
  const lines = left ? left.textContent.split("\\n").filter(line => line.startsWith("<li")) : [];
  const rows = [
    ...[...list.children].map(row => ({ id: row.id, verdict: row.dataset.verdict, row })),
    ...lines.map(line => {
      const [, id, verdict] = line.match(/id="([^"]*)" data-verdict="([^"]*)"/);
      return { id, verdict, line };
    }),
  ];
  const made = document.createElement("template");
  const drawn = each => {
    if (!each.row) {
      made.innerHTML = each.line;
      each.row = made.content.firstElementChild;
    }
    return each.row;
  };
  let described = false;
  const describe = () => {
    if (described) return;
    described = true;
    const text = document.createElement("textarea");
    text.innerHTML = lines.map(line => line.replace(/<[^>]*>/g, "")).join("\\n");
    const words = text.textContent.toLowerCase().split("\\n");
    rows.forEach((each, at) => {
      each.words = each.line ? words[at + lines.length - rows.length]
        : each.row.querySelector("summary, .row").textContent.toLowerCase();
    });
  };
  const apply = () => {
    const wanted = form.elements.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map(box => box.value));
    if (wanted.length) describe();
    const fits = each => verdicts.has(each.verdict) && wanted.every(word => each.words.includes(word));
    const found = rows.filter(fits);
    let next = list.firstElementChild;
    for (const row of found.slice(0, most).map(drawn)) {
      if (row === next) next = next.nextElementSibling;
      else list.insertBefore(row, next);
    }
    while (next) {
      const gone = next;
      next = next.nextElementSibling;
      gone.remove();
    }
    shown.textContent = `${number.format(found.length)} of ${number.format(rows.length)} tables`;
    if (more) more.hidden = found.length <= most;
  };
  let pieces = null, contents = null;
  const fill = details => {
    const body = details.querySelector(":scope > [data-later]");
    if (!body) return;
    if (!pieces) {
      const parts = document.getElementById("later").textContent.split("\x1d");
      [pieces, contents] = parts.map(part => part.split("\x1e"));
    }
    body.innerHTML = contents[body.dataset.later].split(" ").map(at => pieces[parseInt(at, 16)]).join("");
    delete body.dataset.later;
  };
  const follow = () => {
    const id = location.hash.slice(1);
    const at = rows.findIndex(each => each.id === id);
    if (at >= 0 && !drawn(rows[at]).isConnected) {
      form.reset();
      most = Math.max(most, at + 1);
      apply();
    }
    const target = id && document.getElementById(id);
    if (!target) return;
    const details = target.matches("details") ? target : target.querySelector("details");
    if (details) { fill(details); details.open = true; details.querySelector("summary").focus(); }
    target.scrollIntoView();
  };
  const all = open => [...list.children].forEach(row => {
    const details = row.querySelector("details");
    if (!details) return;
    if (open) fill(details);
    details.open = open;
  });
  const again = () => { most = Math.min(most, step); apply(); };
  if (more) {
    list.addEventListener("toggle", event => fill(event.target), true);
    more.addEventListener("click", () => {
      const last = list.lastElementChild;
      most += step;
      apply();
      const first = last && last.nextElementSibling;
      if (more.hidden && first) (first.querySelector("summary") || more).focus();
    });
  }
  form.addEventListener("input", more ? again : apply);
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(apply));
  document.getElementById("open").addEventListener("click", () => all(true));
  document.getElementById("close").addEventListener("click", () => all(false));
  window.addEventListener("hashchange", follow);
  window.addEventListener("beforeprint", () => all(true));
  form.hidden = false;
  apply();
  follow();
})();
"""

#: Applies the theme chosen in Airflow, which keeps it in the browser. Without a choice, the system's theme stays.
THEME_SCRIPT = """
"use strict";
(() => {
  const root = document.documentElement;
  const apply = () => {
    try {
      const theme = localStorage.getItem("theme");
      if (theme === "light" || theme === "dark") root.dataset.theme = theme; else delete root.dataset.theme;
    } catch {}
  };
  window.addEventListener("storage", apply);
  apply();
})();
"""


#: Elements without content and end tag.
_VOID = frozenset({"br", "input", "meta", "wbr"})
Attribute = str | int | bool | None


class Markup(str):
    """A piece of HTML, or of SVG in it."""

    __slots__ = ()


def text(value: str) -> Markup:
    """Return a value as text, with unprintable and direction-changing characters as escapes.

    A CI that prints the page finds no command in it.
    """
    return Markup(escape(visible(value)).replace("::", ":&#58;").replace("##", "#&#35;"))


def lines(value: str) -> Markup:
    """Return a value as text that keeps its line breaks; tabs become blanks."""
    return Markup("\n".join(text(line.expandtabs(4)) for line in value.splitlines()))


def element(tag: str, *content: str | Iterable[str], **attributes: Attribute) -> Markup:
    """Return an element.

    :param content: markup, values to be escaped, or iterables of these
    :param attributes: attributes; underscores become dashes, one at the end is dropped; None and False omit an
        attribute
    """
    opening = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(opening if tag in _VOID else f"{opening}{''.join(map(_content, content))}</{tag}>")


def joined(*content: str | Iterable[str]) -> Markup:
    """Return the pieces joined."""
    return Markup("".join(map(_content, content)))


def _content(content: str | Iterable[str]) -> Markup:
    if isinstance(content, Markup):
        return content
    return text(content) if isinstance(content, str) else joined(*content)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.removesuffix("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{text(str(value))}"'


def wide_table(label: str, caption: str, columns: Iterable[str], rows: Iterable[Markup]) -> Markup:
    """Return a table that scrolls within the page."""
    head = element("tr", *(element("th", column, scope="col") for column in columns))
    table = element("table", element("caption", caption), element("thead", head), element("tbody", *rows))
    return element("div", table, class_="wide", tabindex=0, role="region", aria_label=label)


def breakable(path: str) -> Markup:
    """Return a path that may be broken after each slash. A copy of the text is still the same path."""
    first, *others = re.split("(?<=/)(?=[^/])", path)
    return joined(first, *(joined(element("wbr"), part) for part in others))


@dataclass(frozen=True)
class Document:
    """An HTML page.

    :param body: content above the footer
    :param head_scripts: scripts that run before anything is shown
    :param scripts: scripts that run when the page is complete
    :param has_form: True if the page sends requests to its own server
    """

    title: str
    body: Markup
    head_scripts: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    has_form: bool = False

    @property
    def policy(self) -> str:
        """The Content-Security-Policy, which limits loading and scripts even if names contain markup."""
        scripts = " ".join(map(_source, (*self.head_scripts, *self.scripts))) or "'none'"
        form = "'self'" if self.has_form else "'none'"
        return (
            f"default-src 'none'; style-src {_source(STYLE_SHEET)}; script-src {scripts}; "
            f"base-uri 'none'; form-action {form}"
        )

    @property
    def html(self) -> str:
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=self.policy),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", self.title),
            element("style", Markup(STYLE_SHEET)),
            (element("script", Markup(script)) for script in self.head_scripts),
        )
        body = element(
            "body",
            self.body,
            element("footer", element("p", f"delta-provider {__version__}", class_="dim")),
            (element("script", Markup(script)) for script in self.scripts),
        )
        return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
