"""The decoders of a consumer; those that have to ask a server first are asked once for each batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, FirstError, gatherResults
from twisted.logger import Logger
from twisted.python.failure import Failure

from kafkatx.client.plugins import coder, coder_part
from kafkatx.client.registry.access import RegistryAccess
from kafkatx.clientcore.consumer.completed_fetch import DecodedBatch, DecodeSettings, Prepared
from kafkatx.clientcore.errors import ClientClosed
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.clientcore.tables import consumer
from kafkatx.errors import KafkaTXError
from kafkatx.interfaces import IBatchDecoder, IDecoder

_log = Logger()


def decode_settings(
    settings: ClientSettings, registry: RegistryAccess, notify: Callable[[], None]
) -> DecodeSettings:
    """Return the decoders that the settings name.

    :param notify: called when a batch can be decoded that could not before.
    :raises SettingError: a decoder is not installed, or a setting of it is wrong.
    """
    key, value = (
        coder_part(settings, setting, IDecoder, registry.client)
        for setting in (consumer.KEY_DESERIALIZER, consumer.VALUE_DESERIALIZER)
    )
    asks_key, asks_value = (part if IBatchDecoder.providedBy(part) else None for part in (key, value))
    asks = asks_key is not None or asks_value is not None
    return DecodeSettings(
        settings[consumer.CHECK_CRCS],
        coder(key, "decode"),
        coder(value, "decode"),
        key_with_headers=None if asks_key is None else asks_key.decode_record,
        value_with_headers=None if asks_value is None else asks_value.decode_record,
        prepare=BatchPreparation(asks_key, asks_value, notify) if asks else None,
    )


class BatchPreparation:
    """Asks the decoders of keys and values to prepare themselves for a batch."""

    def __init__(self, key: Any, value: Any, notify: Callable[[], None]) -> None:
        self._key = key
        self._value = value
        self._notify = notify

    def __call__(self, topic: str, batch: DecodedBatch, prepared: Prepared) -> bool:
        """Return True if the batch can be decoded now; otherwise call *prepared* later."""
        waiting: list[Deferred[Any]] = []
        for part, column in ((self._key, batch.keys), (self._value, batch.values)):
            asked = None if part is None else part.prepare_batch(topic, column, batch.headers)
            if asked is not None:
                waiting.append(asked)
        if not waiting:
            return True
        done = gatherResults(waiting, consumeErrors=True)
        outcome: list[Failure | None] = []

        def ended(result: object) -> None:
            outcome.append(result if isinstance(result, Failure) else None)
            if returned:
                self._tell(outcome[0], prepared)

        returned = False
        done.addBoth(ended).addErrback(lambda failure: _log.failure("decoding a batch", failure))
        if outcome and outcome[0] is None:
            return True
        returned = True
        if outcome:  # it has failed at once
            raise _error(outcome[0])
        return False

    def _tell(self, failure: Failure | None, prepared: Prepared) -> None:
        prepared(None if failure is None else _error(failure))
        self._notify()


def _error(failure: Failure | None) -> KafkaTXError:
    """Return the error for the application."""
    error = None if failure is None else failure.value
    if isinstance(error, FirstError):
        error = error.subFailure.value
    if isinstance(error, CancelledError):
        return ClientClosed("the consumer is closed")
    if isinstance(error, KafkaTXError):
        return error
    if failure is not None:
        _log.failure("a decoder could not prepare itself", failure)
    return KafkaTXError(f"a decoder could not prepare itself: {error}")
