"""What annotations and records need of `typing` and `collections.abc`, without loading these: that takes a third of the
time of a start.

Type checkers see the words themselves. Annotations are not evaluated, so at run time `Any`, `Final` and others only
have to exist. A subclass of `NamedTuple` gets the fields of its annotations, in order, with the defaults of its body;
`_replace`, `_fields`, equality, hashing and unpacking are those of named tuples.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from typing import IO, Any, Final, Literal, NamedTuple, NoReturn, Protocol, TextIO, TypeAlias
else:
    from _collections import _tuplegetter  # what collections.namedtuple uses; no Python module to load
    from _collections_abc import Callable, Iterable, Iterator, Mapping, Sequence  # which every Python has loaded

    IO = Any = Final = NoReturn = Protocol = TextIO = TypeAlias = object

    class Literal:
        """Takes arguments where an alias is made of it."""

        def __class_getitem__(cls, words):
            return cls

    _new = tuple.__new__
    #: The constructors of narrow records, read with this file: to compile them takes as long as to load a module.
    _NARROW = (
        lambda _cls, _0, _1: _new(_cls, (_0, _1)),
        lambda _cls, _0, _1, _2: _new(_cls, (_0, _1, _2)),
        lambda _cls, _0, _1, _2, _3: _new(_cls, (_0, _1, _2, _3)),
        lambda _cls, _0, _1, _2, _3, _4: _new(_cls, (_0, _1, _2, _3, _4)),
        lambda _cls, _0, _1, _2, _3, _4, _5: _new(_cls, (_0, _1, _2, _3, _4, _5)),
        lambda _cls, _0, _1, _2, _3, _4, _5, _6: _new(_cls, (_0, _1, _2, _3, _4, _5, _6)),
        lambda _cls, _0, _1, _2, _3, _4, _5, _6, _7: _new(_cls, (_0, _1, _2, _3, _4, _5, _6, _7)),
        lambda _cls, _0, _1, _2, _3, _4, _5, _6, _7, _8: _new(_cls, (_0, _1, _2, _3, _4, _5, _6, _7, _8)),
    )
    #: The code of a constructor by the number of its fields.
    _CODES = {made.__code__.co_argcount - 1: made.__code__ for made in _NARROW}
    #: Fields by their place; records share them.
    _FIELDS = []

    def _make_constructor(names, defaults):
        """As in collections.namedtuple: a function with real parameters is the fastest constructor there is."""
        code = _CODES.get(len(names))
        if code is None:
            words = ", ".join(f"_{place}" for place in range(len(names)))
            code = _CODES[len(names)] = eval(f"lambda _cls, {words}: _new(_cls, ({words},))").__code__
        code = code.replace(co_varnames=("_cls", *names), co_name="__new__")
        return type(_make_constructor)(code, {"_new": _new}, "__new__", defaults or None)

    class NamedTuple(tuple):
        """The base of records."""

        __slots__ = ()

        def __init_subclass__(cls) -> None:
            """Make the constructor and the fields."""
            names = tuple(cls.__dict__.get("__annotations__", ()))  # noqa: RUF063  # inspect takes long to import
            defaults = tuple(cls.__dict__[name] for name in names if name in cls.__dict__)
            cls.__new__ = _make_constructor(names, defaults)
            cls._fields = cls.__match_args__ = names
            for place, name in enumerate(names):
                if place == len(_FIELDS):
                    _FIELDS.append(_tuplegetter(place, f"Field {place}"))
                setattr(cls, name, _FIELDS[place])

        def _replace(self, **changes):
            """A copy with other values in some fields."""
            changed = _new(type(self), map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"unknown fields: {', '.join(changes)}")
            return changed

        def __getnewargs__(self):
            """What copies and pickles are made of."""
            return tuple(self)

        def __repr__(self) -> str:
            """The call that makes an equal record."""
            fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({fields})"


__all__ = ["IO", "Any", "Callable", "Final", "Iterable", "Iterator", "Literal", "Mapping", "NamedTuple", "NoReturn"]
__all__ += ["Protocol", "Sequence", "TextIO", "TypeAlias"]
