"""The parts of a log over any storage of batches (:mod:`kafkatx.log.batch_log`)."""
