"""Checks of the settings of a broker, by the effective values of all of them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kafkatx.cli.doctor.result import Finding, hint, wrong
from kafkatx.config.listeners import is_loopback
from kafkatx.names import counted

PLAIN = ("PLAINTEXT", "SSL")
"""Security protocols without a login; TLS has one if client certificates are required."""


def check_settings(values: Mapping[str, str], who: str, brokers: int = 1) -> Iterator[Finding]:
    """Check the settings of a broker.

    :param brokers: the number of brokers in the cluster.
    """
    yield from _access(values, who)
    yield from _http(values, who)
    yield from _copies(values, who, brokers)
    if values.get("unclean.leader.election.enable") == "true":
        yield hint(
            "unclean-leaders",
            f"{who}: unclean.leader.election.enable=true: records may be lost when leaders change",
            "Set it to false, unless you prefer availability to data.",
        )


def _listeners(values: Mapping[str, str], name: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, host and security protocol of each listener of a setting."""
    protocols = dict(
        pair.split(":", 1)
        for pair in values.get("listener.security.protocol.map", "").split(",")
        if ":" in pair
    )
    for item in values.get(name, "").split(","):
        listener, _, address = item.strip().partition("://")
        if address:
            host = address.rpartition(":")[0].strip("[]")
            yield listener, host, protocols.get(listener, listener).upper()


def _is_open(values: Mapping[str, str], listener: str, host: str, protocol: str) -> bool:
    """Return True if clients of other machines reach a listener and need no login."""
    if is_loopback(host) or protocol not in PLAIN:
        return False
    own = f"listener.name.{listener.lower()}.ssl.client.auth"
    return protocol == "PLAINTEXT" or values.get(own, values.get("ssl.client.auth", "none")) != "required"


def _access(values: Mapping[str, str], who: str) -> Iterator[Finding]:
    authorizer = values.get("authorizer.class.name", "")
    open_ones = [name for name, *rest in _listeners(values, "listeners") if _is_open(values, name, *rest)]
    if open_ones and not authorizer:
        yield wrong(
            "open-listener",
            f"{who}: anyone who reaches the listener {', '.join(open_ones)} may do everything: no login, and"
            " no authorizer",
            "Use SASL or TLS with client certificates, and authorizer.class.name=acl:"
            " `kafkatx docs security`.",
        )
    if authorizer == "learn":
        yield wrong(
            "learn-mode",
            f"{who}: the authorizer learn allows everything",
            "Add the ACLs that it has learned (`kafkatx acls add --from`); set authorizer.class.name=acl.",
        )
    elif authorizer and values.get("allow.everyone.if.no.acl.found") == "true":
        yield hint(
            "allow-everyone",
            f"{who}: allow.everyone.if.no.acl.found=true: resources without ACLs are open to all",
            "Set it to false when all resources have their ACLs.",
        )


def _http(values: Mapping[str, str], who: str) -> Iterator[Finding]:
    if values.get("kafkatx.http.authentication", "none") != "none":
        return
    for listener, host, protocol in _listeners(values, "http.listeners"):
        if not is_loopback(host) and not (
            protocol == "HTTPS" and values.get("ssl.client.auth") == "required"
        ):
            yield wrong(
                "open-http",
                f"{who}: the HTTP listener {listener}://{host} needs no login, and is not on 127.0.0.1",
                "Set kafkatx.http.authentication=basic, or bind it to 127.0.0.1.",
            )


def _copies(values: Mapping[str, str], who: str, brokers: int) -> Iterator[Finding]:
    copies, least = _number(values, "default.replication.factor"), _number(values, "min.insync.replicas")
    if copies > 0 and least > copies:
        yield hint(
            "min-insync",
            f"{who}: min.insync.replicas={least} is above default.replication.factor={copies}, and counts at"
            " most as the number of replicas: one lost replica stops acks=all",
            f"Set default.replication.factor to {least + 1} or min.insync.replicas to {max(copies - 1, 1)}.",
        )
    if brokers > 1:
        for name in (
            "default.replication.factor",
            "offsets.topic.replication.factor",
            "transaction.state.log.replication.factor",
        ):
            if _number(values, name) == 1:
                yield hint(
                    "replication",
                    f"{who}: {name}=1 in a cluster of {counted(brokers, 'broker')}: what one"
                    f" broker has is gone with it",
                    f"Set {name}={min(brokers, 3)}.",
                )


def _number(values: Mapping[str, str], name: str) -> int:
    text = values.get(name, "")
    return int(text) if text.lstrip("-").isdecimal() else 0
