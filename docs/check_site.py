"""Checks a built site: `python docs/check_site.py docs/_build/html`.

Links inside it lead somewhere, and nothing is loaded from elsewhere. Links that leave the site are listed in
external-links.txt beside it; they are not asked for.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
}
"""What a browser fetches by itself, beside `link`, by tag."""

LEADS_NOWHERE = {"preload", "canonical", "search", "index", "next", "prev", "author", "copyright"}
"""Relations of `link` for which no browser asks elsewhere, beside those that name a file."""


class Page(HTMLParser):
    """Anchors, links and loaded files of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what one tag has."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in LEADS_NOWHERE:
            self.loads.append(given.get("href", ""))
        elif tag in LOADS and given.get(LOADS[tag]):
            self.loads.append(given[LOADS[tag]])
        self.loads += re.findall(r"url\(['\"]?([^'\")]+)", given.get("style", ""))


def faults(site: Path) -> tuple[list[str], set[str]]:
    """What is wrong with a site, one line each, and the addresses outside to which it links."""
    pages = {file.resolve(): Page(file) for file in sorted(site.rglob("*.html")) if "_static" not in file.parts}
    wrong, outside = [], set()
    for file, page in pages.items():
        name = file.relative_to(site.resolve())
        for address in page.loads:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                wrong.append(f"{name}: loads {address} from elsewhere")
            elif not (file.parent / unquote(parts.path)).exists():
                wrong.append(f"{name}: loads {address}, which is not there")
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                outside.add(address)
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                wrong.append(f"{name}: {address} leads to no page")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                wrong.append(f"{name}: {address} leads to no place on its page")
    for sheet in site.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
        loaded = re.findall(r"(?:@import\s+['\"]|url\(\s*['\"]?)((?:https?:)?//[^'\")]+)", text)
        wrong += [f"{sheet.relative_to(site)}: loads {address} from elsewhere" for address in loaded]
    return wrong, outside


def main() -> None:
    """Prints what is wrong; exit code 1 if anything is."""
    site = Path(sys.argv[1])
    wrong, outside = faults(site)
    (site.parent / "external-links.txt").write_text("".join(f"{link}\n" for link in sorted(outside)), encoding="utf-8")
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file())
    print(*wrong, f"{len(wrong)} faults; {len(outside)} links lead elsewhere; {size / 1e6:.1f} MB", sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
