"""The user's keys: from the environment, or from a file that nobody else may read.

A key is never printed, never logged and never stored: `Key` shows itself as stars.
"""

import os
import stat
import sys
import tomllib
from pathlib import Path
from typing import Final

from caudal.vocabulary.errors import InvalidInputError, UnavailableError

FILE_VARIABLE: Final = "CAUDAL_KEYS_FILE"
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class UnsafeKeysError(InvalidInputError):
    """The file with the keys may be read by others, or is wrong."""

    code = "unsafe-keys"


class MissingKeyError(UnavailableError):
    """A source needs a key, and there is none."""

    code = "missing-key"


class Key:
    """A secret text."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the text, to be put into a header and nowhere else."""
        return self._text

    def __repr__(self) -> str:
        return "Key(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")


def find_setting(variable: str) -> Key | None:
    """Return what is set under this name: in the environment, else in the file of keys.

    Raises:
        UnsafeKeysError: the file may be read by others, or is no TOML of texts.
    """
    told = os.environ.get(variable, "").strip()
    if told:
        return Key(told)
    return _keys_in_file().get(variable)


def keys_file() -> Path:
    """Return where the keys are looked for."""
    told = os.environ.get(FILE_VARIABLE)
    if told:
        return Path(told).expanduser()
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return home / "caudal" / "keys.toml"


def _keys_in_file() -> dict[str, Key]:
    path = keys_file()
    try:
        with path.open("rb") as stream:
            mode = os.fstat(stream.fileno()).st_mode  # of the file that is read, not of its name
            if sys.platform != "win32" and mode & _OTHERS:
                raise UnsafeKeysError(
                    f"Others may read {path} (mode {stat.S_IMODE(mode):04o}).",
                    remedy=f"chmod 600 {path}, and renew the keys in it.",
                )
            found = tomllib.load(stream)
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        found = {}
        broken = True
    except OSError as unreadable:
        raise UnsafeKeysError(
            f"{path} cannot be read: {unreadable.strerror}.", remedy="Check who owns it."
        ) from unreadable
    else:
        broken = not all(isinstance(value, str) for value in found.values())
    if broken:  # what the parser says of the line would show the key
        raise UnsafeKeysError(
            f"{path} is no TOML of names and texts.",
            remedy='Write VAST_API_KEY = "…", a line each.',
        )
    return {name: Key(str(value)) for name, value in found.items()}
