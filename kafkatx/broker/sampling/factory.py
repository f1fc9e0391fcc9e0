"""The recorder of a broker, as its settings say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkatx.broker.broker import Broker
from kafkatx.broker.sampling.history_file import NAME, HistoryFile
from kafkatx.broker.sampling.recorder import Recorder
from kafkatx.broker.sampling.sampler import Sampler
from kafkatx.config import BrokerConfig
from kafkatx.config.table import broker as b
from kafkatx.config.table import log
from kafkatx.config.table import network as n
from kafkatx.net.poll_meter import PollMeter
from kafkatx.net.server import KafkaServerFactory

if TYPE_CHECKING:
    from kafkatx.web.server import WebServerFactory

IN_MEMORY = "memory"


def make_recorder(
    broker: Broker,
    server: KafkaServerFactory,
    meter: PollMeter | None,
    web: Sequence[WebServerFactory],
) -> Recorder:
    """Return the recorder of a broker, which is not started."""
    path = history_path(broker.config)
    file = None if path is None else HistoryFile(path, broker.workers("history"), broker.limited_log)
    return Recorder(broker.samples, Sampler(broker, server, meter, web), file, broker.clock, broker.now_ms)


def history_path(config: BrokerConfig) -> str | None:
    """Return the path of the file; None if there is none."""
    given = config[n.HISTORY_FILE]
    if given:
        return os.path.abspath(given)
    if config[b.KAFKATX_STORAGE] == IN_MEMORY:
        return None
    return os.path.join(os.path.abspath(config[log.LOG_DIRS][0]), NAME)
