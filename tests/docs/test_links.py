"""The site as it is built: every link within it leads to a page and a place that are there, and no page loads anything
from another host."""

from __future__ import annotations

import importlib.util
import os
import shutil
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from playground import rules
from tests.docs.test_site import ROOT, build

HOST = "https://site.invalid/"
#: Attributes by which a page loads something at once; `link` does so but for these.
LOADS = {"src", "srcset", "poster", "data"}
NAMES = {"canonical", "next", "prev", "alternate"}


class Page(HTMLParser):
    """The addresses that a page loads and links to, the places that it has, and what its classes are."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.places: set[str] = set()
        self.classes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        self.places |= {given[key] for key in ("id", "name") if key in given}
        self.classes.update(given.get("class", "").split())
        self.loads += [value for key, value in given.items() if key in LOADS]
        if tag == "link" and not NAMES & set(given.get("rel", "").split()):
            self.loads.append(given.get("href", ""))
        elif "href" in given:
            self.links.append(given["href"])


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    """The pages of the built site by their path, without what the playground needs npm for; other files are pages
    without links."""
    if not importlib.util.find_spec("zensical"):
        assert not os.environ.get("CI"), "zensical is missing: pip install '.[docs]'"
        pytest.skip("zensical is missing: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("links")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    site = folder / "site"
    for name in ("index.html", "style.css"):
        shutil.copy(ROOT / "playground/src" / name, site)
    (site / "rules").mkdir()
    (site / "rules/index.html").write_text(rules.render())
    shutil.copy(ROOT / "playground/src/rules.js", site / "rules")
    (site / "app.js").write_text("")  # built with npm, and tested in tests/playground
    files = (path for path in site.rglob("*") if path.is_file())
    return {
        str(path.relative_to(site)): Page(path.read_text() if path.suffix == ".html" else "") for path in sorted(files)
    }


def find(pages: dict[str, Page], start: str, link: str) -> str:
    """What is wrong with a link of a page, "" where nothing is."""
    address = urlsplit(urljoin(HOST + start.removesuffix("index.html"), link))
    path = unquote(address.path).lstrip("/")
    target = pages.get(path + "index.html" if path.endswith("/") or not path else path)
    if target is None:
        return f"{start}: {link} leads to no page"
    place = unquote(address.fragment)
    known = not place or place in target.places or place.startswith("symptom=") or place == "__"
    return "" if known else f"{start}: {link} leads to no place of its page"


def is_here(link: str) -> bool:
    return not urlsplit(link).scheme and not link.startswith("//")


def test_links_within_the_site_lead_somewhere(pages: dict[str, Page]) -> None:
    links = {(name, link) for name, page in pages.items() for link in page.links + page.loads if is_here(link)}
    assert len(links) > 5_000
    # The page of errors is served at any address, so its links are from the root of a site that knows its own.
    wrong = [find(pages, name, link) for name, link in sorted(links) if not name.endswith("404.html")]
    assert [each for each in wrong if each] == []


@pytest.mark.parametrize("link", ["nowhere/", "../docs/tutorial/#nowhere", "/rules/nowhere", "tutorial.md"])
def test_a_wrong_link_is_found(pages: dict[str, Page], link: str) -> None:
    assert find(pages, "docs/index.html", link)


def test_no_page_loads_from_another_host(pages: dict[str, Page]) -> None:
    """The theme draws Mermaid with a script of another host, where a page has an element of that class."""
    loads = {load for page in pages.values() for load in page.loads}
    assert len(loads) > 20
    assert [load for load in loads if not is_here(load) and not load.startswith("data:")] == []
    assert [name for name, page in pages.items() if "mermaid" in page.classes] == []


def test_every_page_leads_back_to_the_playground(pages: dict[str, Page]) -> None:
    """By its logo and by the first entry of its menu. The page of errors is served at any address."""
    names = [name for name in pages if name.startswith("docs/") and name.endswith(".html") and "404" not in name]
    assert len(names) > 300
    for name in names:
        home = "../" * name.count("/")
        assert pages[name].links.count(home) >= 2, name
        assert f"{home}rules/" in pages[name].links, name
