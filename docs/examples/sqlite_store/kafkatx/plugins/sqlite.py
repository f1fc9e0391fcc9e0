"""Makes the store known: ``kafkatx.storage=sqlite``."""

from kafkatx.extension import Extension
from kafkatx.interfaces import ILogStore

sqlite = Extension(ILogStore, "sqlite", "sqlite_store:SqliteLogStore", "Records as rows of one SQLite file.")
