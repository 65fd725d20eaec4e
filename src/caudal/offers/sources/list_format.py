"""What a reader of a foreign list is given beside the text."""

from typing import NamedTuple


class Reading(NamedTuple):
    """One list to be read."""

    name: str  # of the file or service, for messages
    provider: str  # where the list itself does not say: from the folder, the file, or the user
