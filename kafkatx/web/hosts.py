"""The names by which browsers may reach a listener. Pure.

A page of another site can let a name of its own point to 127.0.0.1 (DNS rebinding), and its scripts then
read the answers. So a listener on a loopback address answers requests only whose ``Host`` is an address, or
``localhost``, or a name from ``kafkatx.http.allowed.hosts``. Other listeners do so if that is set. A request
that may change something must not come from a page of another site, by ``Origin``, whatever the listener.
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

    :param allowed: names besides addresses and localhost; None: all.
    :raises WebError: 403: the request's name is none of them, or it comes from a page of another site.
    """
    authority = call.headers.get("host", "")
    host = host_name(authority)
    if allowed is not None and host and not is_address(host) and host != "localhost" and host not in allowed:
        raise WebError(403, f"the host {host[:100]!r} is not in kafkatx.http.allowed.hosts")
    origin = call.headers.get("origin")
    if (
        origin is not None
        and call.method != "GET"
        and origin.partition("://")[2].lower() != authority.lower()
    ):
        raise WebError(403, "this request comes from a page of another site")
