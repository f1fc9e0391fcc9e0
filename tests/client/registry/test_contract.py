"""Encoder and decoder of Avro fulfil the contracts of theirs."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

import kafkatx.client.registry.transport as module
from kafkatx.client.registry.client import RegistryClient
from kafkatx.client.registry.coders import avro_decoder, avro_encoder
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.testing.contracts.decoder import TOPIC, DecoderContract
from kafkatx.testing.contracts.producer import PreparingContract
from tests.client.registry.fake_transport import FakeTransport
from tests.schemas.messages.avro.test_avro_format import USER

READING = {"schema.registry.url": "http://r"}
SETTINGS = {"schema.registry.url": "http://r", "kafkatx.value.schema": USER}


class AvroEncoderTests(PreparingContract, SynchronousTestCase):
    def make_encoder(self) -> Any:
        """Return an encoder whose registry holds its replies back."""
        self.transport = FakeTransport()
        self.transport.hold = True
        self.patch(module, "Transport", self.transport.make)
        encoder = avro_encoder()
        registry = RegistryClient.of(SETTINGS, Clock())
        encoder.attach(registry, ClientSettings.load("producer", SETTINGS), False)
        return encoder

    def sample(self) -> Any:
        """Return a user."""
        return {"id": 1, "name": "ann"}

    def answer(self) -> None:
        """Send the replies of the registry."""
        self.transport.release()


class AvroDecoderTests(DecoderContract, SynchronousTestCase):
    def setUp(self) -> None:
        """Encode two users."""
        self.patch(module, "Transport", FakeTransport().make)
        registry, encoder = RegistryClient.of(SETTINGS, Clock()), avro_encoder()
        encoder.attach(registry, ClientSettings.load("producer", SETTINGS), False)
        users = [{"id": 1, "name": "ann", "age": 7}, {"id": 2, "name": "bob", "age": None}]
        preparing = encoder.prepare(TOPIC, users[0])
        if preparing is not None:
            self.successResultOf(preparing)
        self.encoded = [(encoder.encode(TOPIC, user) or b"", user) for user in users]
        self.registry = registry

    def make_decoder(self) -> Any:
        """Return a decoder that knows the schema of these messages."""
        decoder = avro_decoder()
        decoder.attach(self.registry, ClientSettings.load("consumer", READING), False)
        messages = [message for message, _ in self.encoded]
        preparing = decoder.prepare_batch(TOPIC, messages, [b""] * len(messages))
        if preparing is not None:
            self.successResultOf(preparing)
        return decoder

    def samples(self) -> Any:
        """Return the messages and the users."""
        return self.encoded

    def malformed(self) -> Any:
        """Return messages without a prefix, with an unknown id, and cut off."""
        return [b"", b"x", b"\0\0\0\1\0", self.encoded[0][0][:-1]]
