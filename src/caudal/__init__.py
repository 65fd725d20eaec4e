"""Caudal answers which GPU a model and its traffic need, what it costs and where to rent it."""

__version__ = "0.1.0"
