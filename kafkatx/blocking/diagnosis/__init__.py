"""Knowledge of brokers of kafkatx about clients and groups, by requests of their own."""
