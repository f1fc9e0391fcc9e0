"""The control of links, by the controller's broker: topics, offsets of groups, promotion."""
