"""Files of the console's pages."""

from __future__ import annotations

import gzip
from pathlib import Path

from twisted.internet.defer import Deferred, execute
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.broker.console.pages.static_files import FOLDER, StaticFiles, read_files
from kafkatx.web.calls import Answer, Call, WebError


class StaticFilesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a folder with files, and some that are not to be served."""
        root = Path(self.mktemp())
        self.folder = root / "static"
        (self.folder / "vendor").mkdir(parents=True)
        (root / "secret.js").write_text("secret")
        (self.folder / "index.html").write_text("<p>")
        (self.folder / "vendor" / "large.js").write_text("x" * 5000)
        (self.folder / ".hidden").write_text("hidden")
        (self.folder / "link.js").symlink_to(root / "secret.js")
        self.files = StaticFiles(execute, self.folder)

    def get(self, *path: str, **headers: str) -> Answer:
        """Ask for a file."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        call = Call("GET", "/", path, {}, named)
        return self.successResultOf(Deferred.fromCoroutine(self.files.answer(call, path)))

    def test_types(self) -> None:
        """A file comes with its type and a strong tag."""
        answer = self.get("index.html")
        self.assertEqual((answer.body, answer.content_type), (b"<p>", "text/html; charset=utf-8"))
        self.assertRegex(answer.headers["ETag"], r'^"[0-9a-f]{32}"$')
        self.assertEqual(self.get("vendor", "large.js").content_type, "text/javascript; charset=utf-8")

    def test_known(self) -> None:
        """A client that has the file is told so; after a change it gets the new one."""
        tag = self.get("index.html").headers["ETag"]
        again = self.get("index.html", if_none_match=f'"x", {tag}')
        self.assertEqual((again.status, again.body, again.headers["ETag"]), (304, b"", tag))
        (self.folder / "index.html").write_text("<q>")
        self.files = StaticFiles(execute, self.folder)
        self.assertEqual(self.get("index.html", if_none_match=tag).status, 200)

    def test_packed(self) -> None:
        """A large file is packed for clients that can unpack it, with a tag of its own."""
        plain, packed = self.get("vendor", "large.js"), self.get("vendor", "large.js", accept_encoding="gzip")
        assert isinstance(packed.body, bytes)
        self.assertEqual(gzip.decompress(packed.body), plain.body)
        self.assertEqual(packed.headers["Content-Encoding"], "gzip")
        self.assertNotEqual(packed.headers["ETag"], plain.headers["ETag"])
        self.assertNotIn("Content-Encoding", self.get("index.html", accept_encoding="gzip").headers)

    def test_nothing_else(self) -> None:
        """No path leads out of the folder, to a hidden file, a link, or the folder itself."""
        for path in (
            ("..", "secret.js"),
            ("../secret.js",),
            ("vendor", "..", "..", "secret.js"),
            (str(self.folder.parent / "secret.js"),),
            (".hidden",),
            ("link.js",),
            ("vendor",),
            ("index.html\0",),
            (),
        ):
            call = Call("GET", "/", path, {})
            failure = self.failureResultOf(Deferred.fromCoroutine(self.files.answer(call, path)), WebError)
            self.assertEqual(failure.value.status, 404, path)

    def test_own(self) -> None:
        """Each file of ours has a type that browsers take."""
        for name, file in read_files(FOLDER).items():
            if not name.endswith((".LICENSE", ".txt")):
                self.assertNotIn("text/plain", file.content_type, name)
