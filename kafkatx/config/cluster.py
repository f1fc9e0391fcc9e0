"""The choice of the metadata store, and checks of the settings that it needs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

from kafkatx.config.table import broker as b
from kafkatx.config.table import zookeeper as z
from kafkatx.errors import SettingError

ZOOKEEPER = "zookeeper"
LOCAL = "local"
QUORUM = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
"""Settings of Apache Kafka that name the controllers of a KRaft cluster."""


def choose_store(values: MutableMapping[str, Any], is_set: bool) -> list[str]:
    """Put the metadata store into the values of settings unless it is set, and check what it needs.

    :param values: values by the names of settings.
    :param is_set: True if ``kafkatx.metadata.store`` is set.
    :return: warnings.
    :raises SettingError: settings are missing or contradict each other.
    """
    connect = values[z.ZOOKEEPER_CONNECT.name] if values[z.ENABLE_ZOOKEEPER.name] else None
    if not is_set and connect is not None:
        values[b.KAFKATX_METADATA_STORE.name] = ZOOKEEPER
    store = values[b.KAFKATX_METADATA_STORE.name]
    if store == ZOOKEEPER:
        if connect is None:
            raise SettingError(
                f"{b.KAFKATX_METADATA_STORE.name}={store}: zookeeper.connect is not set; set it to "
                f"{z.ZOOKEEPER_CONNECT.allowed}"
            )
        _check_authentication(values)
    elif store == LOCAL and not values[z.KAFKATX_LOCAL_SOCKET.name]:
        raise SettingError(
            f"{b.KAFKATX_METADATA_STORE.name}={store}: {z.KAFKATX_LOCAL_SOCKET.name} is not set; start the "
            "brokers of one machine with kafkatx up --brokers, which sets it"
        )
    elif connect is not None:
        return [f"zookeeper.connect={connect}: not used, since {b.KAFKATX_METADATA_STORE.name}={store}"]
    return []


def refuse_quorum(explicit: Mapping[str, str], store: str) -> None:
    """Refuse the settings of one node of a KRaft cluster, which would become a cluster of its own here.

    :param explicit: texts by the names of settings.
    :raises SettingError: they name several controllers, and no cluster that kafkatx can join.
    """
    if store != b.KAFKATX_METADATA_STORE.default:
        return
    for name in QUORUM:
        controllers = [one for one in explicit.get(name, "").split(",") if one.strip()]
        if len(controllers) > 1:
            raise SettingError(
                f"{name}={explicit[name]}: {len(controllers)} controllers, and kafkatx has no KRaft quorum:"
                " each broker would be a cluster of its own. For brokers on several machines set"
                " zookeeper.connect, for several on this one use kafkatx up --brokers, and leave"
                f" {name} out"
            )


def warn_of_copies(values: Mapping[str, Any]) -> list[str]:
    """Return a warning if the settings ask a broker that is alone for copies of partitions."""
    setting, store = b.DEFAULT_REPLICATION_FACTOR, b.KAFKATX_METADATA_STORE
    if values[setting.name] > 1 and values[store.name] == store.default:
        return [
            f"{setting.name}={values[setting.name]}: a cluster of one broker creates no such topics; set it"
            f" to 1, or {store.name} for a cluster of several brokers"
        ]
    return []


def _check_authentication(values: Mapping[str, Any]) -> None:
    name, password, jaas = (
        values[setting.name]
        for setting in (
            z.KAFKATX_ZOOKEEPER_USERNAME,
            z.KAFKATX_ZOOKEEPER_PASSWORD,
            z.KAFKATX_ZOOKEEPER_JAAS_FILE,
        )
    )
    if (name is None) != (password is None):
        given, missing = (z.KAFKATX_ZOOKEEPER_USERNAME, z.KAFKATX_ZOOKEEPER_PASSWORD)
        if name is None:
            given, missing = missing, given
        raise SettingError(f"{given.name}: {missing.name} is not set; set both, or none of them")
    certificate = (
        values[z.ZOOKEEPER_SSL_CLIENT_ENABLE.name] and values[z.ZOOKEEPER_SSL_KEYSTORE_LOCATION.name]
    )
    if values[z.ZOOKEEPER_SET_ACL.name] and not (name or jaas or certificate):
        raise SettingError(
            f"{z.ZOOKEEPER_SET_ACL.name}=true: the broker does not authenticate to ZooKeeper; set "
            f"{z.KAFKATX_ZOOKEEPER_USERNAME.name}, {z.KAFKATX_ZOOKEEPER_JAAS_FILE.name} or, with "
            f"{z.ZOOKEEPER_SSL_CLIENT_ENABLE.name}, {z.ZOOKEEPER_SSL_KEYSTORE_LOCATION.name}"
        )
