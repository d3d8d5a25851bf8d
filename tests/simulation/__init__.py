"""The whole journal played from one seed: `make simulate SEEDS=10000`, `make simulate SEED=123`."""
