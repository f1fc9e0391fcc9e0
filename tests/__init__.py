"""The tests of kafkatx; folders mirror the package."""
