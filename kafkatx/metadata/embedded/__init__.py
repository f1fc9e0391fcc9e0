"""The cluster's state and who keeps it: implementations of :class:`kafkatx.interfaces.IMetadataStore`."""
