"""The formats of keys and values: from bytes to what people and filters see."""
