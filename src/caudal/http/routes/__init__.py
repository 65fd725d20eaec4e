"""One file a noun: its parameters, its route and its example."""
