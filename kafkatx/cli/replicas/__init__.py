"""Commands of ``kafkatx cluster`` that move leaders and replicas between brokers."""
