"""Whether a model fits: weights, KV cache and overhead of one legal layout on one engine."""
