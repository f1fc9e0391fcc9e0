"""Decoders of formats that others write: messages to rows. The codecs of our own are in kafkatx.encoders."""
