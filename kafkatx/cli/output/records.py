"""Records of the client library, printed as ``kafkatx consume`` prints them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafkatx.cli.output.renderer import JsonRenderer, Renderer

if TYPE_CHECKING:
    from kafkatx.client.threads import Consumer
    from kafkatx.clientcore.consumer.columns import Columns
    from kafkatx.clientcore.consumer.record import Record
    from kafkatx.types import TopicPartition

MakeRenderer = Callable[[str], Renderer]
"""Makes the renderer of one topic."""

WrapRenderer = Callable[[Renderer, str], Renderer]
"""Changes messages of a topic before a renderer gets them."""


class Rows:
    """Prints messages of several topics.

    :param make: None: one JSON object a message.
    :param wrap: applied to each renderer; None: messages are as they are.
    """

    def __init__(
        self, consumer: Consumer, make: MakeRenderer | None, wrap: WrapRenderer | None = None
    ) -> None:
        self._consumer = consumer
        self._make = make or self._json
        self._wrap = wrap
        self._renderers: dict[str, Renderer] = {}

    def render(self, found: Mapping[TopicPartition, list[Record]]) -> bytes:
        """Return all records, rendered."""
        pieces = []
        for place, records in found.items():
            renderer = self._renderers.get(place.topic)
            if renderer is None:
                renderer = self._renderers[place.topic] = self._new(place.topic)
            pieces.append(renderer.render(place.partition, _columns(records, renderer.wants_headers)))
        return b"".join(pieces)

    def _new(self, topic: str) -> Renderer:
        made = self._make(topic)
        return made if self._wrap is None else self._wrap(made, topic)

    def _json(self, topic: str) -> Renderer:
        known = self._consumer.client.cluster.metadata.topics.get(topic)
        leaders = {} if known is None else {p: at.leader for p, at in known.partitions.items()}
        return JsonRenderer(topic, leaders)


def _columns(records: list[Record], with_headers: bool) -> Columns:
    from kafkatx.clientcore.consumer.columns import Columns

    return Columns(
        [record.offset for record in records],
        [record.timestamp_ms for record in records],
        [record.timestamp_type for record in records],
        [record.key for record in records],
        [record.value for record in records],
        [record.headers for record in records] if with_headers else [],
    )
