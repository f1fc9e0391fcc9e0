"""The limits of connections, as values; and addresses in the form in which they are counted. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from types import MappingProxyType

import attrs

from kafkatx.config.table.row import INT_MAX
from kafkatx.net.admission.rates import Window

NO_LIMIT = INT_MAX
"""A rate or number without a limit."""

DEFAULT_WINDOW = Window(11, 1000)


@attrs.frozen
class ListenerLimits:
    """Limits of one listener: its own values of the settings in brackets."""

    max_connections: int = NO_LIMIT  #: max.connections
    creation_rate: int = NO_LIMIT  #: max.connection.creation.rate, per second


@attrs.frozen
class AdmissionLimits:
    """Limits of the connections of a server (the settings' names in brackets).

    :ivar listeners: limits of single listeners, by name.
    :ivar protected: the listener of other brokers if clients have other ones: the limits of all listeners
        together leave it alone; "" if there is none.
    :ivar window: the time over which rates are measured.
    """

    max_connections: int = NO_LIMIT  #: max.connections
    max_connections_per_ip: int = NO_LIMIT  #: max.connections.per.ip
    per_ip_overrides: Mapping[str, int] = MappingProxyType({})  #: max.connections.per.ip.overrides
    creation_rate: int = NO_LIMIT  #: max.connection.creation.rate, per second
    listeners: Mapping[str, ListenerLimits] = MappingProxyType({})
    protected: str = ""
    window: Window = DEFAULT_WINDOW  #: quota.window.num, quota.window.size.seconds


UNLIMITED = AdmissionLimits()


def counted_address(host: str) -> str:
    """Return an address as connections are counted by: an IPv4 address in IPv6 form is that address."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host.partition("%")[0])
    except ValueError:
        return host
    return str(address.ipv4_mapped or address)


def network_of(host: str) -> str:
    """Return whom an address has its fair share with: an IPv6 address with all of its network of 64 bits."""
    address = counted_address(host)
    if ":" not in address:
        return address
    try:
        return str(ipaddress.IPv6Network((address, 64), strict=False))
    except ValueError:
        return address
