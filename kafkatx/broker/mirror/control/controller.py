"""The control of all links by the broker that is the controller; the others only watch if they become it.

It follows the cluster's state and the broker's settings. Each link has rounds of its own, and one that hangs
holds up no other; the states of all topics have rounds that need no source. Another controller may still be
in the middle of a step: all writes are conditional (:mod:`.records`), and commits end with the role.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from twisted.internet.defer import Deferred, DeferredLock, gatherResults
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from kafkatx.broker.mirror.control.group_plan import MirroredTopics
from kafkatx.broker.mirror.control.link_control import LinkControl
from kafkatx.broker.mirror.control.own_brokers import OwnBrokers
from kafkatx.broker.mirror.control.rounds import Rounds
from kafkatx.broker.mirror.control.source import SourceClient
from kafkatx.broker.mirror.control.states_round import StatesRound
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.clientcore.admin.mirror_status import LinkStatus, MirrorStatus
from kafkatx.config import BrokerConfig
from kafkatx.config.links import LinkSettings, link_settings
from kafkatx.config.mirror_record import KAFKATX_MIRROR
from kafkatx.config.table.broker import KAFKATX_AUDIT_TOPIC
from kafkatx.errors import SettingError
from kafkatx.interfaces import IMetadataStore
from kafkatx.net.limited_log import LimitedLog
from kafkatx.networkclient.connection import MakeEndpoint
from kafkatx.types import ClusterDelta


class MirrorController:
    """The control of links, which is at work while this broker is the controller.

    :param target: this cluster's brokers; closed by :meth:`stop`.
    :param status: returns the status of the mirrored partitions that this broker leads.
    :param make_endpoint: makes the endpoints of the sources' brokers; None: TCP.
    """

    _log = Logger()

    def __init__(
        self,
        config: BrokerConfig,
        metadata: IMetadataStore,
        commands: TopicCommands,
        target: OwnBrokers,
        status: Callable[[], Sequence[MirrorStatus]],
        clock: IReactorTime,
        limited_log: LimitedLog,
        make_endpoint: MakeEndpoint | None = None,
    ) -> None:
        self._config = config
        self._broker_id: int = config.get("broker.id")
        self._metadata = metadata
        self._commands = commands
        self._target = target
        self._status = status
        self._clock = clock
        self._limited_log = limited_log
        self._make_endpoint = make_endpoint
        self._links: dict[str, LinkControl] = {}
        self._states: Rounds | None = None
        self._lock = DeferredLock()
        self._ending: list[Deferred[None]] = []
        self._stopped = False
        metadata.subscribe(self._follow)
        self._look_at_role()

    @property
    def _is_controller(self) -> bool:
        state = self._metadata.state
        return state.controller_id == self._broker_id and not state.fenced and not self._stopped

    def use(self, config: BrokerConfig) -> None:
        """Use other settings, at once: links may have come, gone or changed."""
        self._config = config
        if self._states is not None:
            self._look_at_links()
            self._states.wake()

    def _follow(self, delta: ClusterDelta) -> None:
        """Look at the role again; mirrored topics that have changed may need the next step."""
        self._look_at_role()
        if self._states is not None and any(
            KAFKATX_MIRROR in topic.configs
            for name in delta.topics
            if (topic := delta.after.topics.get(name)) is not None
        ):
            self._states.wake()

    def _look_at_role(self) -> None:
        if self._is_controller == (self._states is not None):
            return
        if not self._is_controller:
            self._end()
            return
        states = StatesRound(
            self._broker_id,
            self._metadata,
            self._commands,
            self._target,
            self._status,
            self._lock,
            self._copy_groups,
        )

        async def work() -> float:
            return await states.run(self._config)

        self._states = Rounds(self._clock, work, "a look at the states of mirrors", self._limited_log)
        self._states.wake()
        self._look_at_links()

    async def _copy_groups(self, link: str, topics: MirroredTopics) -> None:
        control = self._links.get(link)
        if control is not None:
            await control.copy_groups(topics)

    def _look_at_links(self) -> None:
        wanted = {name: one for name, one in link_settings(self._config).items() if one.bootstrap_servers}
        for name, control in list(self._links.items()):
            after = wanted.get(name)
            if after is not None and _is_same_source(control.settings, after):
                control.use(after)
            else:
                self._watch_end(self._links.pop(name).stop())
        for name, settings in wanted.items():
            if name not in self._links:
                self._open(settings)

    def _open(self, settings: LinkSettings) -> None:
        try:
            source = SourceClient(settings, self._broker_id, self._clock, self._make_endpoint)
        except SettingError:
            return  # the link's fetchers have said so
        control = self._links[settings.name] = LinkControl(
            settings,
            source,
            self._metadata,
            self._commands,
            self._target,
            self._lock,
            self._clock,
            self._limited_log,
            (self._config[KAFKATX_AUDIT_TOPIC],),
        )
        control.start()

    def _end(self) -> None:
        """End all work: another broker is the controller, or will be."""
        states, self._states = self._states, None
        links, self._links = self._links, {}
        for control in links.values():
            self._watch_end(control.stop())
        if states is not None:
            self._watch_end(states.stop())

    def _watch_end(self, ending: Deferred[None]) -> None:
        self._ending.append(ending)
        ending.addErrback(lambda failure: self._log.failure("the control of a link did not end", failure))
        ending.addBoth(lambda _: self._ending.remove(ending))

    def links(self) -> dict[str, LinkStatus]:
        """Return the status of each link that this broker controls, by name."""
        return {name: control.status() for name, control in self._links.items()}

    def stop(self) -> Deferred[None]:
        """End all work and close all connections; fires when that is done."""
        self._stopped = True
        self._end()
        return gatherResults([*self._ending, self._target.close()]).addCallback(lambda _: None)


def _is_same_source(before: LinkSettings, after: LinkSettings) -> bool:
    return (before.bootstrap_servers, before.client) == (after.bootstrap_servers, after.client)
