"""The runtime of coordinators: it follows the partitions of an internal topic that this broker leads."""
