"""Connects to a broker, negotiates API versions with it (ApiVersions, KIP-35 and KIP-511), and logs in.

A connection whose session ends is used on (KIP-368): the first request after 0.85 of its time waits for a
login. A token is fetched in a thread of the reactor, since it may take another program's time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.internet.threads import deferToThreadPool

from kafkatx import __version__
from kafkatx.clientcore.errors import ClosedByPeer, ConnectionFailed
from kafkatx.clientcore.login import ClientLogin
from kafkatx.errors import ErrorCode, KafkaTXError
from kafkatx.networkclient.protocol import BrokerProtocol
from kafkatx.wire.api import API_VERSIONS
from kafkatx.wire.connection import OPENING_VERSION
from kafkatx.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkatx.wire.messages.metadata import MetadataRequest

Connect = Callable[[], "Deferred[BrokerProtocol]"]


async def connect_and_negotiate(connect: Connect, address: str) -> BrokerProtocol:
    """Connect, and send ApiVersions.

    Where the broker closes the connection on OPENING_VERSION, connect again and send version 0. Where it
    closes on that as well, it is older than ApiVersions (Kafka 0.9) if it answers a Metadata request: then
    every API is used in version 0. A proxy whose broker is away closes connections, too.

    :raises ConnectionFailed: the broker cannot be reached, does not answer, or does not speak Kafka's
        protocol.
    """
    for version in (OPENING_VERSION, 0):
        protocol = await _connected(connect, address)
        try:
            await _negotiate(protocol, version, address)
        except ClosedByPeer:
            continue
        except Exception:
            protocol.close(ConnectionFailed(f"negotiating versions with the broker at {address} failed"))
            raise
        return protocol
    protocol = await _connected(connect, address)
    protocol.wire.fallback_versions()
    try:
        await protocol.request(MetadataRequest([]), version=0)
    except Exception:
        protocol.close(ConnectionFailed(f"the broker at {address} answers neither ApiVersions nor Metadata"))
        raise
    return protocol


async def _connected(connect: Connect, address: str) -> BrokerProtocol:
    try:
        return await connect()
    except CancelledError:
        raise
    except Exception as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise ConnectionFailed(
            f"no broker answers at {address} ({reason}): is it running, and is the address right?"
        ) from error


async def _negotiate(protocol: BrokerProtocol, version: int, address: str) -> None:
    response = await _ask(protocol, version)
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION and version:
        known = [api.max_version for api in response.api_keys if api.api_key == API_VERSIONS.key]
        response = await _ask(protocol, min(version, *known) if known else 0)
    if response.error_code:
        code = ErrorCode.of(response.error_code).name
        raise ConnectionFailed(f"the broker at {address} cannot be used: it answered ApiVersions with {code}")
    protocol.wire.negotiate(response)


async def _ask(protocol: BrokerProtocol, version: int) -> ApiVersionsResponse:
    request = ApiVersionsRequest(client_software_name="kafkatx", client_software_version=__version__)
    response: ApiVersionsResponse = await protocol.request(request, version=version)
    return response


async def log_in(protocol: BrokerProtocol, login: ClientLogin, reactor: IReactorTime) -> None:
    """Log in at a new connection; have it log in again when its session is about to end.

    :raises AuthenticationFailed: the broker refuses; the connection is closed.
    :raises ConnectionFailed: it has failed for another reason.
    """

    async def again() -> float | None:
        token = await _token(login, reactor)
        return await _exchange(protocol, login, token)

    try:
        protocol.log_in_again(again, await again())
    except ClosedByPeer as error:
        raise ConnectionFailed(f"{error} (the login was not answered)") from error
    except KafkaTXError as error:
        protocol.close(error)
        raise


async def _token(login: ClientLogin, reactor: Any) -> str:
    if login.tokens is None:
        return ""
    token: str = await deferToThreadPool(reactor, reactor.getThreadPool(), login.fetch_token)
    return token


async def _exchange(protocol: BrokerProtocol, login: ClientLogin, token: str) -> float | None:
    requests = login.requests(token)
    try:
        request = next(requests)
        while True:
            request = requests.send(await protocol.request(request, is_login=True))
    except StopIteration as end:
        after_s: float | None = end.value
        return after_s
