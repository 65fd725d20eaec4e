"""The day it is: asked once, at the door, and handed to the rooms."""

import os
import time
from datetime import UTC, date, datetime

from caudal.vocabulary.errors import InvalidInputError


def today() -> date:
    """Return the day in UTC; SOURCE_DATE_EPOCH sets it, so that ages of prices can be repeated.

    Source: reproducible-builds.org/specs/source-date-epoch.
    """
    told = os.environ.get("SOURCE_DATE_EPOCH")
    if not told:
        return datetime.fromtimestamp(time.time(), UTC).date()
    try:
        return datetime.fromtimestamp(int(told), UTC).date()
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInputError(
            f"SOURCE_DATE_EPOCH is {told!r}, which is no number of seconds since 1970.",
            remedy="Unset it, or set it to something like 1796040000.",
        ) from error
