"""The encoder of Avro fulfils the contract of encoders that prepare themselves."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock
from twisted.trial.unittest import SynchronousTestCase

import kafkatx.client.registry.transport as module
from kafkatx.client.registry.client import RegistryClient
from kafkatx.client.registry.coders import avro_encoder
from kafkatx.clientcore.settings import ClientSettings
from kafkatx.testing.contracts.producer import PreparingContract
from tests.client.registry.fake_transport import FakeTransport
from tests.schemas.messages.test_avro import USER

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
