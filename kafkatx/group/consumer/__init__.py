"""The group machine of KIP-848: the broker assigns, and members take their steps one by one."""
