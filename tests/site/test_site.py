"""The built site, in a real browser: `nox -s docs` builds it and names it in DISPATCHKIT_SITE."""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag

import pytest

SITE = Path(os.environ.get("DISPATCHKIT_SITE", ""))
if not (SITE / "index.html").is_file():
    pytest.skip("no site is built; nox -s docs builds one", allow_module_level=True)

ROOT = Path(__file__).parents[2]
NO_PAGES = {"_modules", "_static"}  # sources, and what the theme's templates were made of
PAGES = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html") if NO_PAGES.isdisjoint(path.parts))
# Attributes by which a page loads something at once.
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src"}


class Page(HTMLParser):
    """The links, the anchors and the resources of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.resources: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") not in ("canonical", "author"):
            self.resources.append(given[LOADED[tag]])


@cache
def parsed(name: str) -> Page:
    return Page((SITE / name).read_text(encoding="utf-8"))


def target(page: str, link: str) -> tuple[str, str]:
    """Return the file and the anchor that a link of a page leads to."""
    path, anchor = urldefrag(link)
    found = (SITE / page).parent / unquote(path.partition("?")[0]) if path else SITE / page
    return Path(os.path.normpath(found)).relative_to(SITE).as_posix(), unquote(anchor)


@pytest.mark.parametrize("page", PAGES)
def test_no_link_is_broken(page: str) -> None:
    broken = []
    for link in parsed(page).links:
        if ":" in link.split("/")[0]:
            continue
        name, anchor = target(page, link)
        if not (SITE / name).exists() or (anchor and name.endswith(".html") and anchor not in parsed(name).anchors):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES)
def test_nothing_is_loaded_from_another_host(page: str) -> None:
    assert [place for place in parsed(page).resources if place.startswith(("http:", "https:", "//"))] == []


def test_every_public_name_has_a_page() -> None:
    names = {Path(page).stem for page in PAGES if "reference/api/generated" in page}
    assert {"dispatchkit.add", "dispatchkit.Tensor", "dispatchkit.array_type", "dispatchkit.nn.Linear"} <= names
    assert len(names) > 400


GENERATED = [page for page in PAGES if page.startswith("reference/api/generated/")]
REPOSITORY = "https://github.com/dispatchkit/dispatchkit"
ON_GITHUB = re.compile(rf"{REPOSITORY}/(?:blob|edit)/[^/]+/([^#]+)(?:#L(\d+)-L\d+)?$")


@pytest.mark.parametrize("page", GENERATED)
def test_a_name_leads_to_its_source(page: str) -> None:
    text = (SITE / page).read_text(encoding="utf-8")
    places = [match for link in parsed(page).links if (match := ON_GITHUB.match(link)) is not None]
    for path, line in (match.groups() for match in places):
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        assert line is None or re.match(r"\s*(@|def |class |async def )", lines[int(line) - 1])
    if 'class="py data"' not in text:
        assert {"/blob/", "/edit/"} <= {match[0][len(REPOSITORY) :][:6] for match in places}


class Handler(SimpleHTTPRequestHandler):
    """Serves the site without a word."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(SITE)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium and its driver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1280,1000"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield opened
    opened.quit()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_opens_without_an_error(page: str, browser: Any, address: str) -> None:
    browser.get(f"{address}/{page}")
    assert browser.title
    assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("reference/api/generated/")])
def test_a_page_fits_a_phone(page: str, browser: Any, address: str) -> None:
    browser.set_window_size(420, 900)
    try:
        browser.get(f"{address}/{page}")
        width = browser.execute_script("return document.documentElement.scrollWidth - window.innerWidth")
        assert width <= 1
    finally:
        browser.set_window_size(1280, 1000)


MESSAGE = (
    "dispatchkit.errors.AutogradError: the output of model.loss does not require grad and has no grad_fn: nothing it "
    "depends on requires a gradient"
)


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("static typing", "static-typing"),
        ("typing", "static-typing"),
        ("units", "guides/units"),
        ("save load", "saving"),
        ("how it compares", "explanation/how-it-compares"),
        ("create_graph", "autograd"),
        ("jnp.mean", "jax"),
        ("logsumexp", "reference/api/generated/dispatchkit.logsumexp"),
        ("sum", "reference/api/generated/dispatchkit.sum"),
        ("did not require grad", "reference/errors"),
        (MESSAGE, "reference/errors"),
    ],
)
def test_the_search_puts_the_page_first(query: str, page: str, browser: Any, address: str) -> None:
    browser.get(f"{address}/search.html?q={quote(query)}")
    browser.implicitly_wait(10)
    first = browser.find_element("css selector", "#search-results li a")
    assert urldefrag(first.get_attribute("href"))[0] == f"{address}/{page}.html"


def test_what_is_copied_of_a_session_is_what_one_types(browser: Any, address: str) -> None:
    browser.get(f"{address}/index.html")
    text, button = browser.execute_script(
        "document.addEventListener('copy', (event) => { window.copied = event.target.value; }, true);"
        "const block = [...document.querySelectorAll('pre')].find((pre) => pre.textContent.startsWith('>>>'));"
        "return [block.textContent, block.parentElement.querySelector('button.copybtn')];"
    )
    button.click()
    copied = browser.execute_script("return window.copied")
    assert copied.splitlines() == [line[4:] for line in text.splitlines() if line.startswith((">>> ", "... "))]


# Of each name, the most lines that one of its words takes, and how far it reaches beyond the frame. Zero-width spaces
# part the words.
LINES = """
const names = [...document.querySelectorAll(arguments[0])].filter((a) => a.offsetParent && !/\\s/.test(a.textContent));
const edge = document.querySelector(arguments[1]).getBoundingClientRect().right;
return names.map((a) => {
  const words = [...a.textContent.matchAll(/[^\\u200b]+/g)].map((word) => {
    const range = document.createRange();
    range.setStart(a.firstChild, word.index);
    range.setEnd(a.firstChild, word.index + word[0].length);
    return [...range.getClientRects()];
  });
  const lines = words.map((rects) => new Set(rects.map((rect) => Math.round(rect.top))).size);
  return [a.textContent, Math.max(...lines), Math.max(...words.flat().map((rect) => rect.right)) - edge];
});
"""


@pytest.mark.parametrize(
    ("page", "names", "frame"),
    [
        ("reference/api/generated/dispatchkit.sum", ".bd-sidebar-primary .toctree-l3 > a", ".bd-sidebar-primary"),
        ("reference/api/errors", ".bd-sidebar-primary .toctree-l3 > a", ".bd-sidebar-primary"),
        ("reference/api/nn-functional", ".bd-sidebar-primary .toctree-l3 > a", ".bd-sidebar-primary"),
        ("reference/errors", "#pst-page-toc-nav a", ".bd-sidebar-secondary"),
    ],
)
def test_names_at_the_sides_are_seen_whole(page: str, names: str, frame: str, browser: Any, address: str) -> None:
    browser.get(f"{address}/{page}.html")
    browser.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    shown = browser.execute_script(LINES, names, frame)
    assert len(shown) > 10
    assert [name for name, _, _ in shown if name.startswith("dispatchkit.")] == []
    assert [name for name, lines, beyond in shown if lines > 1 or beyond > 0] == []


def test_the_switcher_reads_the_versions_from_its_file(browser: Any, address: str) -> None:
    browser.get(f"{address}/guides/units.html")
    browser.implicitly_wait(10)
    links = browser.find_elements("css selector", ".navbar-header-items__end .version-switcher__menu a")
    versions = json.loads((ROOT / "docs" / "_static" / "switcher.json").read_text(encoding="utf-8"))
    assert [link.get_attribute("href") for link in links] == [f"{entry['url']}guides/units.html" for entry in versions]
