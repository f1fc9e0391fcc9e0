"""A site: it finds applications, and no failure of one gets through."""

from __future__ import annotations

from twisted.internet.defer import Deferred
from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.calls import Answer, Application, Call, WebError
from kafkatx.web.site import Site


class SiteTests(SynchronousTestCase):
    def setUp(self) -> None:
        """Make a site."""
        self.site = Site(frozenset())
        self.made = 0

    def ask(self, *path: str, host: str = "localhost") -> Answer:
        """Ask the site."""
        return self.successResultOf(
            Deferred.fromCoroutine(self.site.answer(Call("GET", "/", path, {}, {"host": host})))
        )

    def test_mounted(self) -> None:
        """An application is made with the first request for one of its paths, once."""

        def make() -> Application:
            self.made += 1
            return lambda call: Answer(200, call.path[0].encode() if call.path else b"root")

        self.site.mount(("", "a", "b"), make)
        self.assertEqual(self.made, 0)
        self.assertEqual(
            [self.ask("a").body, self.ask("b", "x").body, self.ask().body], [b"a", b"b", b"root"]
        )
        self.assertEqual(self.made, 1)
        self.assertEqual(self.ask("c").status, 404)

    def test_failures(self) -> None:
        """A refusal is answered; other errors are logged, and 500."""

        def refuse(call: Call) -> Answer:
            raise WebError(418, "no")

        def fail(call: Call) -> Answer:
            raise ValueError("broken")

        self.site.mount(("refuse",), lambda: refuse)
        self.site.mount(("fail",), lambda: fail)
        self.assertEqual([self.ask("refuse").status, self.ask("fail").status], [418, 500])
        self.assertEqual(len(self.flushLoggedErrors(ValueError)), 1)

    def test_host(self) -> None:
        """The host is checked before an application sees the request."""
        self.site.mount(("a",), lambda: lambda call: Answer(200))
        self.assertEqual(self.ask("a", host="evil.example").status, 403)
