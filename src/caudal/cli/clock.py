"""The day it is, as every door reads it."""

from caudal.documents.clock import today

__all__ = ["today"]
