"""What was made in earlier runs, while a command has somewhere to keep it.

What is kept follows from the data that names it, and from the program alone: nothing else is read to make it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

_Found = TypeVar("_Found")


class _Keeper(Protocol):
    def load(self, name: str) -> Any: ...

    def save(self, name: str, value: object) -> None: ...


#: Of the command that is at work.
_used: list[_Keeper] = []


@contextmanager
def use(store: _Keeper) -> Iterator[None]:
    """A block that finds what earlier ones have made, and keeps what it makes."""
    _used.append(store)
    try:
        yield
    finally:
        _used.remove(store)


def find(kind: str, data: bytes) -> Any:
    """What was made of data; None where that is not known."""
    return _used[-1].load(_name(kind, data)) if _used else None


def keep(kind: str, data: bytes, made: object) -> None:
    """Keep what was made of data: plain values, and records that a store knows."""
    if _used:
        _used[-1].save(_name(kind, data), made)


def is_used() -> bool:
    """Whether anything is kept."""
    return bool(_used)


def check_once(kind: str, check: Callable[..., Iterable[_Found]], *given: Any) -> list[_Found]:
    """What a check finds in what it is given. That it finds nothing is kept."""
    data = repr(given).encode("utf-8", "surrogatepass") if _used else b""
    if find(kind, data):
        return []
    found = [*check(*given)]
    if not found:
        keep(kind, data, True)
    return found


def _name(kind: str, data: bytes) -> str:
    from hashlib import sha256  # few runs keep anything

    return f"{kind} {sha256(data).hexdigest()}"


class Printed(dict[bytes, bytes]):
    """What programs printed, by the digest of all that they were given, in this run and in earlier ones."""

    def __contains__(self, key: object) -> bool:
        if isinstance(key, bytes) and not super().__contains__(key) and (found := find("printed", key)) is not None:
            super().__setitem__(key, found)
        return super().__contains__(key)

    def __setitem__(self, key: bytes, data: bytes) -> None:
        if self.get(key) != data:
            super().__setitem__(key, data)
            keep("printed", key, data)
