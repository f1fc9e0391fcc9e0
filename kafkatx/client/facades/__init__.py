"""Parts shared by :mod:`kafkatx.client.aio` and :mod:`kafkatx.client.threads`, which wrap Twisted clients."""
