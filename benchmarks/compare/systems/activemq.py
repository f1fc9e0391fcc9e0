"""ActiveMQ ("Classic"), from Debian's package: one of the paper's rivals."""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import quoteattr

from benchmarks.compare.loads import openwire
from benchmarks.compare.loads.build import NotBuilt
from benchmarks.compare.process import Server
from benchmarks.compare.systems import java
from benchmarks.compare.systems.system import START_S, System, log_path, says

HOME = "/usr/share/activemq"
MAIN_JAR = f"{HOME}/bin/activemq.jar"
# activemq-options and bin/activemq, as distributed
OPTIONS = (
    "-Xms512M",
    "-Xmx512M",
    "-Dorg.apache.activemq.UseDedicatedTaskRunner=true",
    "--add-reads=java.xml=java.logging",
    "--add-opens=java.base/java.security=ALL-UNNAMED",
    "--add-opens=java.base/java.net=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.naming/javax.naming.spi=ALL-UNNAMED",
    "--add-opens=java.rmi/sun.rmi.transport.tcp=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent.atomic=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.http=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.https=ALL-UNNAMED",
    "--add-exports=java.base/sun.net.www.protocol.jar=ALL-UNNAMED",
    "--add-exports=jdk.xml.dom/org.w3c.dom.html=ALL-UNNAMED",
    "--add-exports=jdk.naming.rmi/com.sun.jndi.url.rmi=ALL-UNNAMED",
)
# conf/activemq.xml as distributed, but for the address, the folder, and no wait for the disk
CONFIGURATION = """\
<beans xmlns="http://www.springframework.org/schema/beans"
  xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
  xsi:schemaLocation="http://www.springframework.org/schema/beans
    http://www.springframework.org/schema/beans/spring-beans-2.0.xsd
    http://activemq.apache.org/schema/core http://activemq.apache.org/schema/core/activemq-core.xsd">
  <broker xmlns="http://activemq.apache.org/schema/core"
      useJmx="false" brokerName="localhost" dataDirectory={data}>
    <persistenceAdapter>
      <kahaDB directory={kahadb} journalDiskSyncStrategy="never"/>
    </persistenceAdapter>
    <transportConnectors>
      <transportConnector name="openwire" uri="tcp://127.0.0.1:{port}"/>
    </transportConnectors>
  </broker>
</beans>
"""


def configuration(folder: str, port: int) -> str:
    """Its ``activemq.xml``: all that it keeps is in one folder."""
    data = os.path.join(folder, "data")
    return CONFIGURATION.format(
        data=quoteattr(data), kahadb=quoteattr(os.path.join(data, "kahadb")), port=port
    )


def command(folder: str) -> list[str]:
    """Return the command of its start script, for the current user."""
    places = {"home": HOME, "base": folder, "conf": folder, "data": os.path.join(folder, "data")}
    return [
        "java",
        *OPTIONS,
        *(f"-Dactivemq.{name}={path}" for name, path in places.items()),
        "-jar",
        MAIN_JAR,
        "start",
        f"xbean:file:{folder}/activemq.xml",
    ]


class ActiveMq(System):
    """A broker with an OpenWire connector and KahaDB, as the package configures it."""

    name = "activemq"
    kafka = False

    def missing(self) -> str | None:
        """Implement System."""
        if not os.path.exists(MAIN_JAR):
            return "there is no ActiveMQ; on Debian: apt-get install activemq default-jdk-headless"
        try:
            openwire.program()
        except NotBuilt as error:
            return str(error)
        return None

    def version(self) -> str:
        """Its version, and Java's."""
        with zipfile.ZipFile(MAIN_JAR) as jar:
            manifest = jar.read("META-INF/MANIFEST.MF").decode()
        found = re.search(r"Implementation-Version: (\S+)", manifest)
        return f"{found[1] if found else 'unknown'} (Java {java.version()})"

    def settings(self) -> str:
        """Return the changes to the package's configuration."""
        return (
            "-Xms512M -Xmx512M and activemq.xml as distributed, but for journalDiskSyncStrategy=never;"
            " persistent messages sent one by one, asynchronously;"
            " a consumer that prefetches 1,000, AUTO_ACKNOWLEDGE"
        )

    def start(self, folder: str, port: int, core: int | None) -> Server:
        """Implement System."""
        with open(os.path.join(folder, "activemq.xml"), "w") as file:
            file.write(configuration(folder, port))
        server = Server(command(folder), log_path(folder), core, {})
        server.wait_for(says(port, b"", b"ActiveMQ"), START_S)  # it greets each client that connects
        return server

    def load_command(
        self, port: int, arguments: Sequence[object], properties: Mapping[str, object]
    ) -> list[str]:
        """Implement System."""
        return openwire.command(port, arguments)
