"""The answer: candidates, ranked plans, and the reason for every one that was rejected."""
