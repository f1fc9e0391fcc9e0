"""The console's own scripts and styles: small files that say what they are and make no markup of data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from twisted.trial.unittest import SynchronousTestCase

from tests.browser.vendor import FOLDER

STATIC = FOLDER.parent
MOST_LINES = 400
MOST_FILES = 24
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|srcdoc"
    r"|dangerouslySetInnerHTML|\beval\(|new Function|setTimeout\(\s*[\"'`]|javascript:"
)
"""What makes markup or programs of text."""

IMPORT = re.compile(r"""(?:from|import)\s*\(?\s*"([^"]+)\"""")
ADDRESS = re.compile(r"(?:https?:)?//[a-z0-9]", re.IGNORECASE)


def own(*ends: str) -> Iterator[Path]:
    """Yield the console's own files with such names."""
    for path in sorted(STATIC.rglob("*")):
        if path.suffix in ends and FOLDER not in path.parents:
            yield path


def name(path: Path) -> str:
    """Return the path of a file below ``static``."""
    return path.relative_to(STATIC).as_posix()


class SourcesTests(SynchronousTestCase):
    def test_size(self) -> None:
        """A file has at most 400 lines, a folder two dozen files."""
        long = [name(path) for path in own(".js", ".css", ".html") if len(_lines(path)) > MOST_LINES]
        self.assertEqual(long, [])
        folders: dict[Path, int] = {}
        for path in own(".js", ".css"):
            folders[path.parent] = folders.get(path.parent, 0) + 1
        self.assertEqual([name(path) for path, count in folders.items() if count > MOST_FILES], [])

    def test_headers(self) -> None:
        """A file begins with a comment that says what it is."""
        for path in own(".js"):
            self.assertRegex(_lines(path)[0], r"^// [A-Z\"].{20,}", name(path))
        for path in own(".css"):
            self.assertRegex(_lines(path)[0], r"^/\* [A-Z].{20,}", name(path))

    def test_no_markup_of_data(self) -> None:
        """No script makes markup or a program of text: data become text nodes and attributes."""
        for path in own(".js", ".html"):
            self.assertEqual(MARKUP.findall(path.read_text(encoding="utf-8")), [], name(path))

    def test_links(self) -> None:
        """The address of a link is made by the router, or is one of this page's own."""
        for path in own(".js"):
            for found in re.findall(r"href=\$\{([^}]*)", path.read_text(encoding="utf-8")):
                made = "href(" in found or found in ("href", "around", "link")
                self.assertTrue(made, (name(path), found))

    def test_strict_policy(self) -> None:
        """The page has no inline script, style or handler, which its policy forbids."""
        text = (STATIC / "index.html").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", text), [])
        for path in own(".js"):
            self.assertNotRegex(
                path.read_text(encoding="utf-8"), r"\sstyle=|setAttribute\(\s*\"style", name(path)
            )

    def test_own_origin(self) -> None:
        """Nothing names another server, but for the namespace of the icon."""
        for path in own(".js", ".css", ".html", ".svg"):
            text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
            self.assertEqual(ADDRESS.findall(text), [], name(path))

    def test_imports(self) -> None:
        """Each import leads to a file; core imports nothing of parts and views, parts nothing of views."""
        floors = ("core", "parts", "views")
        for path in own(".js"):
            for found in IMPORT.findall(path.read_text(encoding="utf-8")):
                target = (path.parent / found).resolve()
                self.assertTrue(target.is_file(), (name(path), found))
                here, there = (one.relative_to(STATIC).parts[0] for one in (path, target))
                if here in floors and there in floors:
                    self.assertLessEqual(floors.index(there), floors.index(here), (name(path), found))

    def test_used(self) -> None:
        """Each script is imported by another one, but for the first; each style sheet is in the page."""
        imported = {
            (path.parent / found).resolve()
            for path in own(".js")
            for found in IMPORT.findall(path.read_text(encoding="utf-8"))
        }
        self.assertEqual([name(path) for path in own(".js") if path not in imported], ["main.js"])
        page = (STATIC / "index.html").read_text(encoding="utf-8")
        self.assertEqual([name(path) for path in own(".css") if f"static/{name(path)}" not in page], [])

    def test_preloaded(self) -> None:
        """The page names each module that is needed before a view: others would come one by one."""
        page = (STATIC / "index.html").read_text(encoding="utf-8")
        named = re.findall(r'rel="modulepreload" href="static/([^"]+)"', page)
        self.assertEqual(sorted(named), sorted(name(path) for path in _needed(STATIC / "main.js", set())))


def _needed(path: Path, found: set[Path]) -> set[Path]:
    """Return the modules that one needs at once: imports by ``import()`` are later ones."""
    for target in re.findall(r'(?:from|^import) "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE):
        module = (path.parent / target).resolve()
        if module not in found:
            found.add(module)
            _needed(module, found)
    return found


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
