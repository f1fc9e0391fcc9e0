"""RabbitMQ, from Debian's package: one of the paper's rivals."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from benchmarks.broker_process import free_port
from benchmarks.compare.loads import amqp
from benchmarks.compare.loads.build import NotBuilt
from benchmarks.compare.process import Server
from benchmarks.compare.systems.system import START_S, System, log_path, says

SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"
# Erlang's port mapper has to be there: a node that finds none starts a daemon, which stays; this one does not
COMMAND = ("sh", "-c", f"epmd & until epmd -names >/dev/null 2>&1; do sleep 0.05; done; exec {SERVER}")
PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
# the head of a method frame of channel 0: it can only be Connection.Start
START_FRAME = b"\x01\x00\x00"


def environment(folder: str, port: int, distribution_port: int, mapper_port: int) -> dict[str, str]:
    """Return the environment of its start script: one folder for all files, ports of its own."""
    return {
        "HOME": folder,  # where Erlang puts its cookie
        "ERL_CRASH_DUMP": os.path.join(folder, "erl_crash.dump"),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_EPMD_PORT": str(mapper_port),
        "RABBITMQ_NODENAME": "bench@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(distribution_port),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_MNESIA_BASE": os.path.join(folder, "mnesia"),
        "RABBITMQ_LOG_BASE": os.path.join(folder, "log"),
        "RABBITMQ_CONFIG_FILE": os.path.join(folder, "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": os.path.join(folder, "rabbitmq-env.conf"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": os.path.join(folder, "enabled_plugins"),
    }


class RabbitMq(System):
    """A node of its own with the defaults: no plugins, and local clients are ``guest``."""

    name = "rabbitmq"
    kafka = False

    def missing(self) -> str | None:
        """Implement System."""
        if not os.path.exists(SERVER) or shutil.which("epmd") is None:
            return "there is no RabbitMQ; on Debian: apt-get install rabbitmq-server"
        try:
            amqp.program()
        except NotBuilt as error:
            return str(error)
        return None

    def version(self) -> str:
        """Its version, and Erlang's."""
        found = re.search(r"rabbitmq_server-([^/]+)", os.path.realpath(SERVER))
        ask = ["erl", "-noshell", "-eval", "io:put_chars(erlang:system_info(otp_release)), halt()."]
        erlang = subprocess.run(ask, capture_output=True, text=True).stdout
        return f"{found[1] if found else 'unknown'} (Erlang {erlang})"

    def settings(self) -> str:
        """Return the changes to the package's configuration."""
        return (
            "its defaults; a durable classic queue; persistent messages sent one by one, all confirmed,"
            " up to 10,000 under way; a consumer that prefetches 1,000 and acknowledges 100 at a time"
        )

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        given = environment(folder, port, free_port(), free_port())
        for name in ("RABBITMQ_CONFIG_FILE", "RABBITMQ_CONF_ENV_FILE", "RABBITMQ_ENABLED_PLUGINS_FILE"):
            with open(given[name], "w") as file:
                file.write("[].\n" if name == "RABBITMQ_ENABLED_PLUGINS_FILE" else "")
        server = Server(COMMAND, log_path(folder), core, given)
        server.wait_for(says(port, PROTOCOL_HEADER, START_FRAME), START_S)
        return server

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System."""
        return amqp.command(port, arguments)
