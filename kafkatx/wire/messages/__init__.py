"""The requests and responses, one module per API; :mod:`kafkatx.wire.api` holds the one table of them."""
