"""Decoders of external formats, from messages to rows. The project's own codecs are in kafkatx.encoders."""
