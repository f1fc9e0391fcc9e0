"""A Twisted application that has a broker inside: ``twistd -ny application.tac``."""

from twisted.application.service import Application
from twisted.internet import reactor
from twisted.logger import Logger

from kafkatx.broker import BrokerService
from kafkatx.config import BrokerConfig
from kafkatx.tap import installed_parts

log = Logger()
config = BrokerConfig.load(None, {"listeners": "PLAINTEXT://127.0.0.1:9092", "log.dirs": "data"})
broker = BrokerService(config, installed_parts(config), reactor)
broker.started.addCallbacks(
    lambda _: log.info("clients may connect to {address}", address=broker.bootstrap),
    lambda failure: log.failure("no broker", failure),
)

application = Application("with a broker inside")
broker.setServiceParent(application)
