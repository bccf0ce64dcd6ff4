"""Errors, with the codes of the command line."""

from __future__ import annotations

from ._words import spoken

__all__ = [
    "BudgetError",
    "DamagedError",
    "InputError",
    "InternalError",
    "MachineError",
    "MissingError",
    "OutputError",
    "StorageError",
    "UsageError",
    "WelterError",
]


class WelterError(Exception):
    """Any error of welter.

    Attributes
    ----------
    code : int
        The exit code that the command would end with.
    hint : str or None
        What to do about it, where that is known.
    """

    code: int = 70
    hint: str | None = None

    def __init__(self, message: str, code: int | None = None, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code


class MachineError(WelterError, ConnectionError):
    """A machine of a cluster that did not come, or that is gone for good (75)."""

    code = 75


class UsageError(WelterError, ValueError):
    """An option that there is not, or that does not go with the others (2)."""

    code = 2


class InputError(WelterError, ValueError):
    """An input with wrong content, with its file and line or row (65)."""

    code = 65


class MissingError(WelterError, FileNotFoundError):
    """An input that is not there (66)."""

    code = 66


class DamagedError(WelterError, OSError):
    """Kept data that is damaged (70)."""

    code = 70


class InternalError(WelterError, RuntimeError):
    """A bug in welter (70): please report it."""

    code = 70


class OutputError(WelterError, OSError):
    """An output that cannot be made (73)."""

    code = 73


class StorageError(WelterError, OSError):
    """Reading or writing failed (74)."""

    code = 74


class BudgetError(WelterError, MemoryError):
    """The run does not fit into the memory that may be used; the message says what would (78)."""

    code = 78


_BY_CODE: dict[int, type[WelterError]] = {
    2: UsageError,
    65: InputError,
    66: MissingError,
    70: DamagedError,
    73: OutputError,
    74: StorageError,
    78: BudgetError,
}


def of(code: int, message: str, hint: str | None = None, bug: bool = False) -> BaseException:
    """The exception of an exit code; `bug` tells a bug from damaged data, which share a code."""
    message, hint = spoken(message), hint and spoken(hint)
    if code in (75, 130):
        return KeyboardInterrupt(message if hint is None else f"{message}; {hint}")
    if bug:
        return InternalError(message, code, hint)
    return _BY_CODE.get(code, WelterError)(message, code, hint)
