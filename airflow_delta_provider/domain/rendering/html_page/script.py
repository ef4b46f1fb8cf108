"""What the pages run. Without it, everything is there to be read."""

#: Filters the tables of a page.
SCRIPT = """
"use strict";
(() => {
  const form = document.getElementById("filter");
  const rows = [...document.querySelectorAll("[data-verdict]")];
  const words = new Map(rows.map(row => [row, row.querySelector("summary, .row").textContent.toLowerCase()]));
  const shown = document.getElementById("shown");
  const number = new Intl.NumberFormat("en");
  const apply = () => {
    const wanted = form.elements.words.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const verdicts = new Set([...form.querySelectorAll("[name=verdict]:checked")].map(box => box.value));
    let count = 0;
    for (const row of rows) {
      row.hidden = !verdicts.has(row.dataset.verdict) || !wanted.every(word => words.get(row).includes(word));
      count += row.hidden ? 0 : 1;
    }
    shown.textContent = `${number.format(count)} of ${number.format(rows.length)} tables`;
  };
  const follow = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = target && (target.matches("details") ? target : target.querySelector("details"));
    if (!target) return;
    if (target.hidden) { form.reset(); apply(); }
    if (details) { details.open = true; details.querySelector("summary").focus(); }
    target.scrollIntoView();
  };
  const all = open => rows.forEach(row => {
    const details = row.querySelector("details");
    if (details && !row.hidden) details.open = open;
  });
  form.addEventListener("input", apply);
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

#: Takes over the theme that a reader has chosen in Airflow, which keeps it in the browser; a system's stays.
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
