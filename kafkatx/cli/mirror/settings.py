"""The settings of links as the commands read and edit them: dynamic ones, for all brokers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from kafkatx.errors import KafkaTXError

if TYPE_CHECKING:
    from kafkatx.blocking import Cluster
    from kafkatx.clientcore.admin.mirror_status import MirrorReport


def of_link(cluster: Cluster, link: str) -> dict[str, str]:
    """Return the dynamic settings of a link by their names without prefix, also if there is no such link."""
    from kafkatx.blocking.admin.configs import Configs
    from kafkatx.blocking.admin.mirrors import ALL_BROKERS
    from kafkatx.clientcore.admin.mirror_links import setting

    prefix = setting(link, "")
    return {
        name.removeprefix(prefix): entry.value or ""
        for name, entry in Configs(cluster).describe(ALL_BROKERS).items()
        if name.startswith(prefix)
    }


def report_of(cluster: Cluster, link: str, topics: Collection[str] = ()) -> MirrorReport:
    """Return the report of a link and its mirrors.

    :raises KafkaTXError: there is neither such a link nor a mirror of it, or no mirror of one of the topics.
    """
    from kafkatx.blocking.admin.mirrors import Mirrors

    report = Mirrors(cluster).report([link])
    if not report.links and not report.partitions:
        raise KafkaTXError(f"there is no link {link!r}: see `kafkatx mirror status`")
    missing = sorted(set(topics).difference(one.topic for one in report.partitions))
    if missing:
        raise KafkaTXError(f"link {link} has no mirror {missing[0]!r}: see `kafkatx mirror status {link}`")
    return report


def alter(
    cluster: Cluster,
    link: str,
    values: Mapping[str, str],
    deleted: Collection[str] = (),
    added: Collection[str] = (),
    removed: Collection[str] = (),
) -> None:
    """Change settings of a link, by names without prefix; *added* and *removed* are names of links."""
    from kafkatx.blocking.admin.mirrors import Mirrors
    from kafkatx.clientcore.admin.mirror_links import setting

    whole = {setting(link, name): value for name, value in values.items()}
    Mirrors(cluster).alter(whole, [setting(link, name) for name in deleted], added, removed)
