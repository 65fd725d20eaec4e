"""Options that belong together, handed to a command as one value."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Protocol

Option = Callable[[Callable[..., None]], Callable[..., None]]


class OptionGroup(Protocol):
    """A decorator that adds options to a command and gives it what they mean."""

    def __call__(self, command: Callable[..., None], /) -> Callable[..., None]:
        """Return the command with the options."""
        ...


def option_group(
    options: Mapping[str, Option], *, name: str, build: Callable[..., object]
) -> OptionGroup:
    """Return a decorator: the command gets `name=build(**values of the options)`.

    `options` maps the parameter's name to click's option.
    """

    def decorate(command: Callable[..., None], /) -> Callable[..., None]:
        @wraps(command)
        def collected(*arguments: object, **values: object) -> None:
            taken = {key: values.pop(key) for key in options}
            command(*arguments, **{name: build(**taken)}, **values)

        decorated: Callable[..., None] = collected
        for option in reversed(list(options.values())):
            decorated = option(decorated)
        return decorated

    return decorate
