"""DescribeSamples (key 10104), version 0: what this broker has sampled of itself.

It is kafkatx's own and not listed by ApiVersions: consoles of other brokers ask it. While they do, this
broker samples itself each second.
"""

from __future__ import annotations

from kafkatx.broker.broker import Broker
from kafkatx.broker.dispatch import Api
from kafkatx.broker.history.history import MOST_POINTS, MOST_SERIES
from kafkatx.broker.history.packed import pack
from kafkatx.broker.history.window import Window
from kafkatx.broker.requests.context import RequestContext
from kafkatx.errors import ErrorCode, RequestError
from kafkatx.wire.messages.describe_samples import (
    DescribeSamplesRequest,
    DescribeSamplesResponse,
    LatestSample,
    SampledSeries,
)


def answer(
    broker: Broker, request: DescribeSamplesRequest, context: RequestContext
) -> DescribeSamplesResponse:
    """Tell the newest samples, and series over time."""
    if len(request.series) > MOST_SERIES or not 0 <= request.count <= MOST_POINTS:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"at most {MOST_SERIES} series and {MOST_POINTS} intervals can be asked for",
        )
    if request.series and request.step_ms <= 0:
        raise RequestError(ErrorCode.INVALID_REQUEST, "intervals must be longer than 0 ms")
    window = Window(request.step_ms, request.first, request.count)
    broker.samples.look(broker.clock.seconds())
    history = broker.samples.history
    return DescribeSamplesResponse(
        latest=[LatestSample(*pair) for pair in history.latest.items()],
        series=[SampledSeries(name, pack(history.read(name, window))) for name in request.series],
    )


def refuse(
    request: DescribeSamplesRequest, context: RequestContext, code: ErrorCode, message: str
) -> DescribeSamplesResponse:
    """Refuse the request with an error and a message."""
    return DescribeSamplesResponse(error_code=code, error_message=message)


API = Api(DescribeSamplesRequest, DescribeSamplesResponse, answer, refuse)
