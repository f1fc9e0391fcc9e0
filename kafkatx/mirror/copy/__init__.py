"""The copying of records from sources to a target, with the Twisted client."""
