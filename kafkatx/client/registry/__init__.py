"""The Twisted client of a schema registry, and the encoders and decoders that use it."""
