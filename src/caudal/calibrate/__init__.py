"""Measured against predicted: accuracy reports, and the constants fitted to measurements."""
