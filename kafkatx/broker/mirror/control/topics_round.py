"""One round over the topics of a link: they are compared with the source, and what differs is changed here.

It changes the cluster's metadata, and asks the source. What to do is :mod:`.topic_plan`'s.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs
from twisted.logger import Logger

from kafkatx.broker.mirror.control.records import RecordChanged, follow_configs, replace_record
from kafkatx.broker.mirror.control.source import SourceClient
from kafkatx.broker.mirror.control.topic_plan import (
    Configure,
    Create,
    Grow,
    Mark,
    Refused,
    SourceTopic,
    Step,
    is_mirrored,
    plan,
)
from kafkatx.broker.requests.assignments import plan_partitions
from kafkatx.broker.topic_commands import TopicCommands
from kafkatx.config import usable_topic_configs
from kafkatx.config.links import LinkSettings
from kafkatx.config.mirror_record import record_of
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.interfaces import IMetadataStore
from kafkatx.types import Topic

BY_DEFAULT = -1
"""As many replicas as new topics have by default."""


class TopicsRound:
    """The rounds over the topics of one link.

    :ivar problems: why topics are not mirrored as they should be, by name.
    :param excluded: names that are not mirrored.
    """

    _log = Logger()

    def __init__(
        self,
        metadata: IMetadataStore,
        commands: TopicCommands,
        source: SourceClient,
        excluded: tuple[str, ...],
    ) -> None:
        self.problems: Mapping[str, str] = {}
        self._metadata = metadata
        self._commands = commands
        self._source = source
        self._excluded = excluded

    async def run(self, link: LinkSettings) -> None:
        """Make one round.

        :raises KafkaTXError: the source is not reached, or refuses.
        """
        own = self._own(link.name)
        topics = await self._source.topics(
            lambda name: name in own or is_mirrored(name, link.topics, self._excluded)
        )
        found = {name: _usable(topic) for name, topic in topics.found.items()}
        here = {
            name: topic for name, topic in self._metadata.state.topics.items() if name not in topics.unclear
        }
        problems: dict[str, str] = {}
        for step in plan(link, found, here, self._excluded):
            try:
                await self._make(link, step)
            except RecordChanged:
                continue  # the next round looks again
            except RequestError as error:
                problems[step.name] = str(error)
        self._tell(link, problems)

    def _own(self, link: str) -> set[str]:
        return {
            name
            for name, topic in self._metadata.state.topics.items()
            if (record := record_of(topic.configs)) is not None
            and record.link == link
            and not record.writable
        }

    async def _make(self, link: LinkSettings, step: Step) -> None:
        """Make one step.

        :raises RequestError: it cannot be made.
        """
        if isinstance(step, Create):
            self._commands.check_configs(step.configs)
            assignment = self._commands.plan(step.partitions, BY_DEFAULT)
            await self._commands.create(step.name, assignment, step.configs)
        elif isinstance(step, Grow):
            topic: Topic | None = self._metadata.state.topics.get(step.name)
            if topic is not None:
                assignment = plan_partitions(self._metadata.state, topic, step.added)
                await self._commands.add_partitions(step.name, step.count, assignment)
        elif isinstance(step, Configure):
            self._commands.check_configs(step.configs)
            await follow_configs(self._commands, step.name, link.name, step.configs)
        elif isinstance(step, Mark):
            await replace_record(self._commands, step.name, step.before, step.after)
            self._log.warn(
                "the mirror {topic} of link {link} is {state} now{why}",
                topic=step.name,
                link=link.name,
                state=step.after.state.value,
                why=f": {step.after.reason}" if step.after.reason else "",
            )
        elif isinstance(step, Refused):
            raise RequestError(ErrorCode.POLICY_VIOLATION, step.why)

    def _tell(self, link: LinkSettings, problems: Mapping[str, str]) -> None:
        """Log each problem once."""
        for name, why in problems.items():
            if self.problems.get(name) != why:
                self._log.warn(
                    "link {link}: the topic {topic} is not mirrored: {why}",
                    link=link.name,
                    topic=name,
                    why=why,
                )
        self.problems = problems


def _usable(topic: SourceTopic) -> SourceTopic:
    """Return a topic without configs that this version does not know or allow."""
    if topic.configs is None:
        return topic
    return attrs.evolve(topic, configs=usable_topic_configs(topic.configs)[0])
