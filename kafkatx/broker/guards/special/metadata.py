"""The check of Metadata: topics by name, by id or all, and those that would be created. No I/O."""

from __future__ import annotations

from kafkatx.acls import AclOperation, ResourceType
from kafkatx.broker.authorization.demands import DEMANDS
from kafkatx.broker.guards.calls import Call, Completion
from kafkatx.broker.guards.operations import show_of_cluster
from kafkatx.errors import ErrorCode
from kafkatx.wire.messages.metadata import (
    NO_OPERATIONS,
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

_NAMED, _, _CREATING, _ = DEMANDS[MetadataRequest.API_KEY].demands
_FLAG_SINCE, _NULL_NAME_SINCE = 4, 12
_NOBODY = MetadataRequestTopic(name="")
"""In version 0 an empty list asks for all topics; no topic has an empty name."""


def check(call: Call, request: MetadataRequest) -> Completion:
    """Take the topics out that the client may not see or create."""
    wanted, version = request.topics, call.context.version
    if wanted is None or (version == 0 and not wanted):
        return lambda response: _complete(call, response, None)
    creates = _creates(call, request)
    refused: list[MetadataResponseTopic] = []
    allowed = []
    for asked in wanted:
        refusal = _refusal(call, asked, creates)
        if refusal is None:
            allowed.append(asked)
        else:
            refused.append(refusal)
    request.topics = allowed or ([_NOBODY] if version == 0 else [])
    return lambda response: _complete(call, response, refused)


def _creates(call: Call, request: MetadataRequest) -> bool:
    asked = request.allow_auto_topic_creation or call.context.version < _FLAG_SINCE
    return bool(asked and call.broker.config.get("auto.create.topics.enable"))


def _refusal(call: Call, asked: MetadataRequestTopic, creates: bool) -> MetadataResponseTopic | None:
    state = call.broker.metadata.state
    name = asked.name_by(state.topic_names)
    if asked.is_by_id:  # ids are no secrets: an unknown one is told so
        if name is None or call.meets(_NAMED, name):
            return None
        nameless = None if call.context.version >= _NULL_NAME_SINCE else ""
        return MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, nameless, asked.topic_id)
    name = name or ""
    if call.meets(_NAMED, name) and (not creates or name in state.topics or call.meets(_CREATING, name)):
        return None
    return MetadataResponseTopic(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)


def _complete(call: Call, response: MetadataResponse, refused: list[MetadataResponseTopic] | None) -> None:
    """Add the refused topics; None: leave those out that the client may not see."""
    topics = response.topics
    if refused is None:
        describe, kind = AclOperation.DESCRIBE, ResourceType.TOPIC
        topics = [one for one in topics if one.name and call.sees(describe, kind, one.name)]
    elif call.context.version == 0:
        topics = [one for one in topics if one.name]
    for one in topics:
        if one.topic_authorized_operations != NO_OPERATIONS:
            one.topic_authorized_operations = call.authorization.operations(
                call.context.peer, ResourceType.TOPIC, one.name or ""
            )
    response.topics = topics + (refused or [])
    show_of_cluster(call, response)
