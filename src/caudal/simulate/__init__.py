"""How a deployment does under load: queue, batching, replicas; requests in, records out."""
