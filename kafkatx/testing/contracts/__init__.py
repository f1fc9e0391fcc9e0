"""Contract tests, one class for each interface: what every implementation, also a third party's, must do.

Each is a mixin for a ``twisted.trial.unittest.SynchronousTestCase``::

    class MyCoordinatorTests(CoordinatorContract, SynchronousTestCase):
        def make_coordinator(self) -> ICoordinator:
            return MyCoordinator(...)
"""
