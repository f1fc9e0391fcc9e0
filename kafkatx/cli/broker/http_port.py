"""The HTTP listener of ``kafkatx up`` where no setting says anything of it."""

from __future__ import annotations

from kafkatx.config import BrokerConfig
from kafkatx.config.listeners import is_loopback
from kafkatx.config.table import network as n

HOST = "127.0.0.1"
PORT = 8081
"""The customary port of schema registries."""


def default_listeners(config: BrokerConfig) -> list[tuple[str, str]]:
    """Return the settings of a listener on this machine alone; nothing if ``http.listeners`` is set.

    Its port is any free one if another program uses the customary one. The console is offered if all
    listeners are on loopback addresses and no setting says otherwise.
    """
    settings = []
    listeners = config.http_listeners()
    if config.used_name(n.HTTP_LISTENERS) is None:
        settings = [(n.HTTP_LISTENERS.name, f"HTTP://{HOST}:{PORT}"), (n.HTTP_PORT_FALLBACK.name, "true")]
    elif not listeners or not all(is_loopback(listener.host) for listener in listeners):
        return []
    if config.used_name(n.CONSOLE_ENABLE) is None:
        settings.append((n.CONSOLE_ENABLE.name, "true"))
    return settings
