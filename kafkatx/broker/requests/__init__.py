"""From a frame to its answer: dispatch, bounds on replies, conversion for old clients."""
