"""Faults of a secured cluster: certificates are renewed, and a user is removed while it is connected."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from kafkatx.blocking import Cluster
from kafkatx.blocking.admin.credentials import Credentials
from kafkatx.clientcore.errors import AuthenticationFailed
from kafkatx.errors import KafkaTXError
from kafkatx.wire.messages.metadata import MetadataRequest
from tests.cluster.access import Access
from tests.cluster.faults import NOTHING, Begun, Fault, Victims
from tests.cluster.operations import with_cluster
from tests.cluster.security import MECHANISM, Security, numbers
from tests.cluster.system import System

SETTLED_S = 120.0
"""Time after which a change counts at every broker: other faults may cut one off meanwhile."""

PASSWORD = "for a while"
ASK_S = 5.0


def _security(system: System) -> Security:
    assert system.security is not None
    return system.security


def renew(victims: Victims) -> AbstractContextManager[Begun]:
    """Renew the certificate of a broker, which shows it to new connections some seconds later."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system = victims.system
        broker_id, role = victims.broker()
        if broker_id < 0:
            yield NOTHING
            return
        serial = _security(system).renew(str(broker_id))
        yield Begun(f"new certificate of broker {broker_id}, {role}", 15.0)
        address = system.addresses[broker_id].listen
        deadline_s = time.monotonic() + SETTLED_S
        while (shown := _security(system).serial(address)) != serial and time.monotonic() < deadline_s:
            time.sleep(1)
        if shown != serial and broker_id not in system.busy:
            system.complaints.append(f"broker {broker_id} does not show its new certificate")

    return fault()


def revoke(victims: Victims) -> AbstractContextManager[Begun]:
    """Remove a user who is connected to all brokers: it is cut off, and cannot log in again."""

    @contextmanager
    def fault() -> Iterator[Begun]:
        system, user = victims.system, f"mallory-{next(numbers)}"

        def add(cluster: Cluster) -> None:
            Credentials(cluster).set_password(user, PASSWORD, MECHANISM)

        def remove(cluster: Cluster) -> None:
            if any(one.user == user for one in Credentials(cluster).describe()):
                Credentials(cluster).delete(user, [MECHANISM])

        with_cluster(system, add, insist=True)
        access = _security(system).access(system.bootstrap, user, PASSWORD)
        clients = _connected(system, access)
        told = with_cluster(system, remove, insist=True)
        try:
            yield Begun(f"{user}, who was connected to brokers {sorted(clients)}, is removed {told}", 10.0)
        finally:
            for broker_id, client in clients.items():
                if not _is_out(client):
                    system.complaints.append(f"broker {broker_id} still answers {user}, who was removed")
                client.close()
        for broker_id in clients:
            if not _is_refused(access.at(system.addresses[broker_id].listen)):
                system.complaints.append(f"broker {broker_id} lets {user} in, who was removed")

    return fault()


def _connected(system: System, access: Access) -> dict[int, Cluster]:
    """Return clients that are logged in, by the broker that they are connected to."""
    clients = {}
    for broker_id, address in system.addresses.items():
        client = access.at(address.listen).cluster(timeout_s=ASK_S, connect_timeout_s=ASK_S, retries=0)
        deadline_s = time.monotonic() + 10
        while time.monotonic() < deadline_s and broker_id not in system.busy:
            try:
                client.any_broker().request(MetadataRequest([]))
                clients[broker_id] = client
                break
            except KafkaTXError:  # it may not know the user yet
                time.sleep(0.2)
        if broker_id not in clients:
            client.close()
    return clients


def _is_out(client: Cluster) -> bool:
    """Return True if a client that was connected gets no answer any more, not even after another login."""
    deadline_s = time.monotonic() + SETTLED_S
    while time.monotonic() < deadline_s:
        try:
            client.any_broker().request(MetadataRequest([]))
        except KafkaTXError:
            return True
        time.sleep(1)
    return False


def _is_refused(access: Access) -> bool:
    """Return True if a login is refused, or the broker is away for long."""
    deadline_s = time.monotonic() + SETTLED_S
    let_in = False
    while time.monotonic() < deadline_s:
        try:
            with access.cluster(timeout_s=ASK_S, connect_timeout_s=ASK_S, retries=0) as client:
                client.brokers()
            let_in = True
        except AuthenticationFailed:
            return True
        except KafkaTXError:
            let_in = False
        time.sleep(1)
    return not let_in


SECURE: Sequence[tuple[Fault, int]] = ((renew, 4), (revoke, 4))
"""What an operator of a secured cluster does, and how often."""
