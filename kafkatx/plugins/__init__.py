"""The plugins: modules here and in any ``kafkatx/plugins`` folder on the path."""

from twisted.plugin import pluginPackagePaths

__path__.extend(pluginPackagePaths(__name__))
__all__: list[str] = []
