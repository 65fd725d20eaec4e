"""Base units and the only place where GB meets GiB.

Inside Caudal there are seconds, bytes, FLOP, tokens and USD per hour; milliseconds, GiB and
cents exist at the doors and in readers.
"""

from typing import Final, NewType

Bytes = NewType("Bytes", int)
BytesPerSecond = NewType("BytesPerSecond", float)
Flop = NewType("Flop", float)
FlopPerSecond = NewType("FlopPerSecond", float)
Seconds = NewType("Seconds", float)
Tokens = NewType("Tokens", int)
TokensPerSecond = NewType("TokensPerSecond", float)
RequestsPerSecond = NewType("RequestsPerSecond", float)

KB: Final = 10**3
MB: Final = 10**6
GB: Final = 10**9
TB: Final = 10**12
KIB: Final = 2**10
MIB: Final = 2**20
GIB: Final = 2**30
TIB: Final = 2**40

SECONDS_PER_HOUR: Final = 3600
SECONDS_PER_DAY: Final = 86_400
