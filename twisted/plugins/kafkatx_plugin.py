"""Tells ``twistd`` of the broker: ``twistd kafkatx``.

No ``__init__.py`` stands beside this file: it is put into Twisted's own ``twisted.plugins``.
"""

from twisted.application.service import ServiceMaker

kafkatx = ServiceMaker("kafkatx", "kafkatx.tap", "A Kafka broker", "kafkatx")
