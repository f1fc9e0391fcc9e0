"""The transaction coordinator: transactional ids by partition of ``__transaction_state``."""
