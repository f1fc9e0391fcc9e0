"""The names by which browsers may reach a listener, and the pages that may use it. Pure.

A page of another site can let a name of its own point to an address of a broker (DNS rebinding), and its
scripts then read the answers. So a listener without TLS and without logins answers requests only whose
``Host`` is an address, ``localhost``, a name that the broker knows to be its own, or one of
``kafkatx.http.allowed.hosts``. At other listeners rebinding gives nothing: the certificate is for other
names, and the browser has no password for the page; they check ``Host`` if the setting has names.

A request that a page of another site makes by a script has an ``Origin``, and is refused at every listener.
One that it makes by an image or the like has none, but browsers name its site in ``Sec-Fetch-Site``; it is
refused, too, unless a person follows a link.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from kafkatx.web.calls import Call, WebError


def host_name(authority: str) -> str:
    """Return the host of ``host:port``, in lower case and without brackets."""
    authority = authority.strip().lower()
    if authority.startswith("["):
        return authority[1:].partition("]")[0]
    return authority.partition(":")[0]


def is_address(host: str) -> bool:
    """Return True for an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def check_host(call: Call, allowed: Collection[str] | None) -> None:
    """Check the names in the headers of a request.

    :param allowed: names besides addresses and localhost; None: all. An ``Origin`` may have them, too.
    :raises WebError: 403: the request's name is none of them, or it comes from a page of another site.
    """
    authority = call.headers.get("host", "")
    host = host_name(authority)
    if allowed is not None and host and not is_address(host) and host != "localhost" and host not in allowed:
        raise WebError(403, f"the host {host[:100]!r} is not in kafkatx.http.allowed.hosts")
    if _is_embedded(call):
        raise WebError(403, "this request comes from a page of another site")
    origin = call.headers.get("origin")
    if origin is not None and not _is_own(origin, authority, allowed or ()):
        raise WebError(
            403,
            f"this request comes from a page of another site, {origin[:100]!r}, whose host is not in"
            " kafkatx.http.allowed.hosts",
        )


def _is_embedded(call: Call) -> bool:
    """Return True if a page of another site makes a request, and not a person who follows a link."""
    site, mode = call.headers.get("sec-fetch-site", ""), call.headers.get("sec-fetch-mode", "")
    is_link = mode == "navigate" and call.headers.get("sec-fetch-dest", "document") == "document"
    return site in ("cross-site", "same-site") and not is_link and "origin" not in call.headers


def _is_own(origin: str, authority: str, allowed: Collection[str]) -> bool:
    of_page = origin.partition("://")[2].lower()
    return bool(of_page) and (of_page == authority.lower() or host_name(of_page) in allowed)
