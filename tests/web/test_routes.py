"""Routes by method and path."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.calls import Answer, Call, WebError
from kafkatx.web.routes import Routes


class RoutesTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make routes whose handlers answer their names and arguments."""
        self.routes = Routes()
        for method, pattern in (
            ("GET", "/"),
            ("GET", "/a/x"),
            ("GET", "/a/{n}"),
            ("PUT", "/a/{n}"),
            ("GET", "/{n}/b/{m}"),
        ):
            self.routes.add(
                method,
                pattern,
                lambda call, *names, pattern=pattern: Answer(200, repr((pattern, names)).encode()),
            )

    def ask(self, method: str, *path: str) -> object:
        """Ask, and return what the handler was called with."""
        answer = self.routes.answer(Call(method, "", path, {}))
        assert isinstance(answer, Answer)
        return answer.body

    def test_found(self) -> None:
        """The first pattern that fits answers, with the texts of its placeholders."""
        self.assertEqual(self.ask("GET"), b"('/', ())")
        self.assertEqual(self.ask("GET", "a", "x"), b"('/a/x', ())")
        self.assertEqual(self.ask("GET", "a", "y"), b"('/a/{n}', ('y',))")
        self.assertEqual(self.ask("GET", "1", "b", "2"), b"('/{n}/b/{m}', ('1', '2'))")

    def test_missing(self) -> None:
        """A path without a handler is 404, a method without one 405; OPTIONS lists the methods."""
        for method, path, status in (
            ("GET", ("b",), 404),
            ("DELETE", ("a", "y"), 405),
            ("GET", ("a", "c", "d"), 404),
        ):
            error = self.assertRaises(WebError, self.ask, method, *path)
            self.assertEqual(error.status, status)
        answer = self.routes.answer(Call("OPTIONS", "", ("a", "y"), {}))
        assert isinstance(answer, Answer)
        self.assertEqual(answer.headers["Allow"], "GET, PUT")
