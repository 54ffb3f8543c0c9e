"""Words of `typing` for annotations, without loading it: that import alone takes a third of the time of a start.

Type checkers see the words themselves. Annotations are not evaluated, so at run time a word only has to exist, and to
take arguments where an alias is made of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, Literal, NoReturn, Protocol, TypeAlias
else:

    class Literal:
        """A word that takes arguments."""

        def __class_getitem__(cls, words):
            return cls

    Any = Final = NoReturn = Protocol = TypeAlias = object

__all__ = ["Any", "Final", "Literal", "NoReturn", "Protocol", "TypeAlias"]
