"""Hosts and origins: pages of other sites cannot use a listener of this machine."""

from __future__ import annotations

from twisted.trial.unittest import SynchronousTestCase

from kafkatx.web.calls import Call, WebError
from kafkatx.web.hosts import check_host, host_name


def call(method: str = "GET", **headers: str) -> Call:
    """Make a request."""
    return Call(method, "/", (), {}, headers)


class HostTests(SynchronousTestCase):
    def test_names(self) -> None:
        """The host is found with and without a port, also of IPv6."""
        names = ("A.example:80", "a.example", "[::1]:8081", "127.0.0.1:1", "")
        self.assertEqual(
            [host_name(name) for name in names], ["a.example", "a.example", "::1", "127.0.0.1", ""]
        )

    def test_allowed(self) -> None:
        """Addresses, localhost and the names that are allowed pass; others do only where all do."""
        for host in ("127.0.0.1:8081", "localhost", "[::1]", "10.0.0.1", "a.example:1", ""):
            check_host(call(host=host), {"a.example"})
        check_host(call(), set())
        check_host(call(host="evil.example"), None)
        error = self.assertRaises(WebError, check_host, call(host="evil.example"), {"a.example"})
        self.assertEqual(error.status, 403)

    def test_embedded(self) -> None:
        """A request that a page of another site embeds is refused; a link that a person follows is not."""
        for site, mode, dest, refused in (
            ("cross-site", "no-cors", "image", True),
            ("same-site", "no-cors", "script", True),
            ("cross-site", "navigate", "iframe", True),
            ("cross-site", "navigate", "document", False),
            ("same-origin", "cors", "empty", False),
            ("none", "navigate", "document", False),
        ):
            headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
            call = Call("GET", "/", (), {}, {"host": "localhost", **headers})
            if refused:
                self.assertEqual(self.assertRaises(WebError, check_host, call, None).status, 403)
            else:
                check_host(call, None)

    def test_origin(self) -> None:
        """A request from a page of another site is refused, whatever the listener."""
        same = {"host": "localhost:8081", "origin": "http://localhost:8081"}
        other = {"host": "localhost:8081", "origin": "http://evil.example"}
        check_host(call("PUT", **same), None)
        check_host(call("PUT", **{**other, "origin": "https://a.example:444"}), {"a.example"})
        for method, headers in (
            ("GET", other),
            ("POST", other),
            ("DELETE", {**other, "origin": "null"}),
            ("POST", {"host": "", "origin": "null"}),
            ("POST", {**other, "origin": "http://localhost:8082"}),
            ("POST", {**other, "origin": "http://a.example.evil"}),
        ):
            for allowed in (None, {"a.example"}):
                error = self.assertRaises(WebError, check_host, call(method, **headers), allowed)
                self.assertEqual(error.status, 403)
