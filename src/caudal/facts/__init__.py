"""What is known: models, GPUs, engines, precisions, each with where it was read."""
