"""Protobuf schemas: read from text or from a descriptor, written in one form, and compared. Pure.

The library ``protobuf`` holds the descriptors and checks them; ``protoc`` is not needed.
"""
