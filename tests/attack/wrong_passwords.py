"""Many logins with wrong passwords at once, in a process of its own.

``python -m tests.attack.wrong_passwords sasl|http HOST:PORT COUNT`` tries COUNT at a time, by SASL from one
address, by HTTP from eight, until its standard input ends.
"""

from __future__ import annotations

import contextlib
import http.client
import sys
import threading

from kafkatx.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkatx.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.integration.raw import RawClient
from tests.web.test_schemes import basic

USER = "honest0"
PAUSE_S = 0.05
TIMEOUT_S = 30.0


def get(address: str, user: str, password: str, source: str) -> int:
    """Send a request by HTTP with a login; return the status."""
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S, source_address=(source, 0))
    try:
        connection.request("GET", "/subjects", headers={"Authorization": basic(user, password)})
        return connection.getresponse().status
    finally:
        connection.close()


def try_sasl(address: str, number: int) -> None:
    """Log in with a wrong password by SASL."""
    with RawClient(address, "127.0.0.2") as client:
        client.ask(17, 1, SaslHandshakeRequest("PLAIN"))
        client.ask(36, 2, SaslAuthenticateRequest(b"\0%b\0wrong%d" % (USER.encode(), number)))


def try_http(address: str, number: int) -> None:
    """Log in with a wrong password by HTTP."""
    get(address, USER, f"wrong{number}", f"127.0.1.{number % 8 + 1}")


def main(kind: str, address: str, count: str) -> None:
    """Try wrong passwords until standard input ends."""
    attempt = {"sasl": try_sasl, "http": try_http}[kind]
    ended = threading.Event()

    def go_on(number: int) -> None:
        while not ended.wait(PAUSE_S):
            with contextlib.suppress(OSError, EOFError, http.client.HTTPException):
                attempt(address, number)

    for number in range(int(count)):
        threading.Thread(target=go_on, args=(number,), daemon=True).start()
    sys.stdin.read()
    ended.set()


if __name__ == "__main__":
    main(*sys.argv[1:])
