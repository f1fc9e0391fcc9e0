"""The requests and responses, one module per API; :mod:`kafkatx.wire.api` has the table of APIs."""
