"""``/session``: who the user is, logins, logouts."""

from __future__ import annotations

from collections.abc import Sequence

import kafkatx
from kafkatx.broker.console.api.bodies import Fields
from kafkatx.broker.console.login.access import Access
from kafkatx.broker.console.parts import ConsoleParts
from kafkatx.broker.console.route import Route
from kafkatx.config.table import network as n
from kafkatx.net.requests import Session
from kafkatx.web.calls import Answer, Call, as_json


def session_routes(parts: ConsoleParts, access: Access) -> Sequence[Route]:
    """Return the routes of a listener."""
    broker = parts.broker

    def show(session: Session | None) -> dict[str, object]:
        return {
            "authentication": access.ways,
            "principal": None if session is None else session.principal,
            "readOnly": parts.actions.read_only,
            "messages": broker.config[n.CONSOLE_MESSAGES],
            "version": kafkatx.__version__,
            "clusterId": broker.metadata.state.cluster_id,
            "brokerId": broker.node_id,
            "serverTimeMs": broker.now_ms(),
        }

    async def get(call: Call) -> object:
        return show(await access.session(call))

    async def log_in(call: Call) -> Answer:
        fields = Fields.of(call)
        if fields.has("token"):
            session, headers = await access.log_in_with(call, fields.text("token"))
        else:
            session, headers = await access.log_in(call, fields.text("username"), fields.text("password"))
        return Answer(200, as_json(show(session)), headers=headers)

    def log_out(call: Call) -> Answer:
        return Answer(200, as_json({}), headers=access.log_out(call))

    body = {
        "username": "name of the user",
        "password": "their password",
        "token": "a token, instead of both",
    }
    return [
        Route("GET", "/session", get, "Tell who the user is, and what this console does", public=True),
        Route("POST", "/session", log_in, "Log in", body=body, public=True),
        Route("DELETE", "/session", log_out, "Log out", public=True),
    ]
