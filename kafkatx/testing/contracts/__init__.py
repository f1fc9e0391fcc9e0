"""Contract tests, one class for each interface: what every implementation, also a third party's, must do.

Each is a mixin for a ``twisted.trial.unittest.SynchronousTestCase``::

    class MyStoreTests(MetadataStoreContract, SynchronousTestCase):
        def make_store(self) -> IMetadataStore:
            return MyStore(...)
"""
