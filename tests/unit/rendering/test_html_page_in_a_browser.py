"""The page in a real browser, where one is installed: its policy lets its own script run, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from airflow_delta_provider.domain.rendering.page import render
from tests.unit.rendering.reports import found, report_of, sound, violated
from tests.unit.rendering.test_html_page import Page

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.mark.soak
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_filter_runs_and_a_name_does_not(tmp_path: Path) -> None:
    name = "</title><script>document.title='run'</script><img src=x onerror=document.title='run'>"
    report = report_of(violated(name, found(column=name, evidence=name)), *(sound(str(n)) for n in range(9)))
    (tmp_path / "page.html").write_text(render(report), encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/profile", "--dump-dom")
    done = subprocess.run(
        [str(BROWSER), *flags, f"file://{tmp_path}/page.html"], capture_output=True, text=True, timeout=120, check=True
    )
    page = Page(done.stdout)
    assert "10 of 10 tables" in page.text
    [form] = page.attributes("form")
    assert "hidden" not in form
    assert "<title>Delta audit: VIOLATED</title>" in done.stdout
    assert page.attributes("img") == []


@pytest.mark.soak
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_every_table_of_a_small_page_is_drawn_and_none_is_wider_than_a_phone(tmp_path: Path) -> None:
    from tests.browser.chromium import Chromium

    kinds = ("created", "protocol", "added", "widened", "renamed", "dropped", "changed")
    events = [{"version": number, "kind": kind, "text": f"{kind} " * 9} for number, kind in enumerate(kinds)]
    history = {"events": events, "protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}
    tables = (violated(f"/lake/a_long_name_of_a_zone/table_{number}", history=history) for number in range(30))
    (tmp_path / "page.html").write_text(render(report_of(*tables)), encoding="utf-8")
    with Chromium(tmp_path / "profile") as browser:
        browser.send("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
        browser.go(f"file://{tmp_path}/page.html")
        browser.value("document.getElementById('open').click()")
        drawn = "[...document.querySelectorAll('h4')].map(e => e.checkVisibility({contentVisibilityAuto: true}))"
        assert browser.value(drawn) == [True] * 30
        wide = (
            "[...document.querySelectorAll('main *')].filter(e => !e.parentElement.closest('figure, .wide, pre') && "
            "e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 99))"
        )
        assert browser.value(wide) == []
        assert browser.value("document.documentElement.scrollWidth") == 390
        shown = "[...document.querySelectorAll('figure')].every(e => getComputedStyle(e).overflowX === 'auto')"
        assert browser.value(shown), "a long legend scrolls in its figure"


@pytest.mark.soak
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_very_many_tables_are_listed_and_opened_step_by_step(tmp_path: Path) -> None:
    from tests.browser.chromium import Chromium

    names = (f"/lake/<t>&amp;{number}" for number in range(1000))
    report = report_of(*(violated(name, found(evidence=f"Number of {name}.")) for name in names))
    (tmp_path / "page.html").write_text(render(report), encoding="utf-8")
    listed = "document.querySelectorAll('[data-verdict]').length"
    drawn = "document.querySelectorAll('article').length"
    focused = "document.activeElement.closest('li').id"
    with Chromium(tmp_path / "profile") as browser:
        browser.go(f"file://{tmp_path}/page.html")
        assert (browser.value(listed), browser.value(drawn)) == (200, 0)
        assert browser.value("document.getElementById('shown').textContent") == "1,000 of 1,000 tables"
        browser.value("document.querySelector('#table-3 summary').click()")
        browser.wait_for("document.querySelector('#table-3 article')")
        assert "Number of /lake/<t>&amp;2." in browser.value("document.querySelector('#table-3').innerText")
        browser.value("document.getElementById('more').click()")
        assert (browser.value(listed), browser.value(drawn)) == (400, 1)
        browser.value("location.hash = '#table-901'")
        browser.wait_for("document.querySelector('#table-901 article')")
        browser.wait_for(f"{listed} === 901")
        assert browser.value(focused) == "table-901"
        browser.value("document.getElementById('more').click()")
        assert browser.value(listed) == 1000
        assert browser.value(focused) == "table-902", "the button is gone, and its focus with it"
        browser.value("document.getElementById('open').click()")
        assert browser.value(drawn) == 1000
        browser.value("document.querySelector('[type=search]').value = '<T>&amp;99 md03'")
        browser.value("document.getElementById('filter').dispatchEvent(new Event('input'))")
        assert browser.value(listed) == 11
        assert browser.value("document.querySelector('.tables').lastElementChild.querySelector('details').open")
        assert browser.value("document.getElementById('more').hidden")
        browser.value("document.querySelector('[type=search]').value = ''")
        browser.value("document.getElementById('filter').dispatchEvent(new Event('input'))")
        order = "[...document.querySelector('.tables').children].map(row => row.id)"
        assert browser.value(order) == [f"table-{number}" for number in range(1, 201)]
        assert browser.messages == []
        browser.send("Emulation.setScriptExecutionDisabled", value=True)
        browser.go("about:blank")
        browser.go(f"file://{tmp_path}/page.html")
        seen = "[...document.querySelectorAll('li h3')].filter(e => e.checkVisibility()).map(e => e.textContent)"
        assert browser.value(seen) == [f"/lake/<t>&amp;{number}" for number in range(1000)]
        assert "Opening a table needs scripts" in browser.value("document.body.innerText")


@pytest.mark.soak
@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_ten_thousand_tables_are_a_small_document(tmp_path: Path) -> None:
    from tests.browser.chromium import Chromium

    codes = ("MD03", "TF01", "AC11", "RT05")
    tables = (
        violated(f"/lake/t{n}", *(found(code, f"{code} in part-{n}.parquet.", fingerprint=f"{n}") for code in codes))
        for n in range(10_000)
    )
    source = render(report_of(*tables))
    assert len(source) < 8_000_000
    (tmp_path / "page.html").write_text(source, encoding="utf-8")
    with Chromium(tmp_path / "profile") as browser:
        browser.go(f"file://{tmp_path}/page.html")
        assert browser.value("document.querySelectorAll('*').length") < 4000
        assert browser.value("document.getElementById('shown').textContent") == "10,000 of 10,000 tables"
        browser.send("Page.printToPDF")
        assert browser.value("document.querySelectorAll('article').length") == 200 * len(codes)
