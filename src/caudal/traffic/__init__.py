"""What is asked of a server: how many requests, how long, and how fast they must be answered."""
