"""Makes the policy known: ``kafkatx.retention=nightly``."""

from kafkatx.extension import Extension
from kafkatx.interfaces import IRetentionPolicy

nightly = Extension(
    IRetentionPolicy, "nightly", "nightly_retention:Nightly", "Segments of earlier days (UTC) go."
)
