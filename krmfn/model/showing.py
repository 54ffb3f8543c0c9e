"""What of a value may be shown: nothing secret, nothing endless.

Findings and plans are printed into logs that more people read than the manifests. Values of Secrets and of environment
variables are hidden wherever a value is taken out of a manifest to be shown.
"""

from __future__ import annotations

import re
from typing import Any

from krmfn.krm.paths import Path
from krmfn.krm.results import ABSENT

HIDDEN = "(hidden)"
#: Characters of a text, and values in a mapping or list, that are shown; a few lines of aliases can be millions.
MOST_CHARACTERS = 10_000
MOST_VALUES = 1_000
#: Kinds whose values are secret, also where a letter's case is wrong, and in the plural, as resources are called.
_SECRETS = ("secret", "secrets", "secretlist")
#: What a Secret shows of itself; anything else in it may be a value in a place where it does not belong.
_SHOWN_OF_SECRETS = ("apiVersion", "kind", "type", "immutable")
_SHOWN_OF_METADATA = (
    *("name", "generateName", "namespace", "uid", "resourceVersion", "generation", "selfLink", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "ownerReferences", "managedFields"),
)
#: Fields whose text holds a whole object, or an environment.
_SECRET_TEXTS = ("kubectl.kubernetes.io/last-applied-configuration", "runtimeEnvYAML", "redis-password")


def show(kind: str, path: Path, value: Any) -> Any:
    """The value at `path` of an object of `kind` as it may be shown: the same, or with parts hidden or cut."""
    if value is ABSENT or value is None or isinstance(value, bool | int | float):
        return HIDDEN if value is not ABSENT and value is not None and is_secret(kind, path) else value
    left = [MOST_VALUES]
    shown = _show(kind, path, value, left)
    return shown if left[0] >= 0 else f"(more than {MOST_VALUES} values)"


def may_hold_secrets(data: bytes) -> bool:
    """False where surely nothing in a text of manifests is to be hidden. Escapes and tags leave it open."""
    return re.search(rb"(?i)env|secret|stringData|password|last-applied|[\\\\!]", data) is not None


def _show(kind: str, path: Path, value: Any, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        return None
    if isinstance(value, dict):
        if hides_keys(kind, path):
            return HIDDEN
        return {key: _show(kind, (*path, key), child, left) for key, child in value.items() if left[0] >= 0}
    if isinstance(value, list):
        shown = []
        for index, child in enumerate(value):
            if left[0] < 0:
                break
            shown.append(_show(kind, (*path, index), child, left))
        return shown
    if value is not None and is_secret(kind, path):
        return HIDDEN
    if isinstance(value, str) and len(value) > MOST_CHARACTERS:
        return f"{value[:100]}… ({len(value)} characters)"
    return value


def cut(text: str, most: int = MOST_CHARACTERS) -> str:
    """A message of reasonable length: of what is longer, the beginning and the end, which has the reason.

    >>> cut("Invalid value: " + "x" * 70_000 + ": too long")[-35:]
    'xxxxxx: too long (70025 characters)'
    """
    part = most // 4
    return text if len(text) <= most else f"{text[:part]} … {text[-part:]} ({len(text)} characters)"


def hide(kind: str, path: Path, message: str, value: Any) -> str:
    """A message about a value, without the value where it is secret."""
    return message.replace(value, HIDDEN) if isinstance(value, str) and value and is_secret(kind, path) else message


def close(kind: str, path: Path) -> Path:
    """The part of a path that may be shown.

    >>> close("Pod", ("spec", "containers", 0, "env", 0, "value", "s3cret"))
    ('spec', 'containers', 0, 'env', 0, 'value')
    """
    return path[: next((end for end in range(2, len(path)) if _is_closed(kind, path[:end])), len(path))]


def hides_keys(kind: str, path: Path) -> bool:
    """Whether the keys of a mapping are to be hidden: it is, or is in, what belongs where a secret text does."""
    return len(close(kind, (*path, ""))) <= len(path)


def _is_closed(kind: str, path: Path) -> bool:
    """Whether a secret text belongs at a path: of a mapping there (`value: {password}`) the keys are hidden, too."""
    if len(path) == 2 and (path[0] == "stringData" or kind.casefold() in _SECRETS):
        return path[0] != "metadata"
    if path[:1] == ("metadata",) and kind.casefold() in _SECRETS:
        return len(path) == 3 and path[1] not in _SHOWN_OF_METADATA
    if path[-2:] == ("redisPassword", "value"):
        return True
    return path[-3:-2] == ("env",) and isinstance(path[-2], int) and path[-1] not in ("name", "valueFrom")


def _is_open(path: Path) -> bool:
    """Whether a Secret shows what is at a path: what has this place in every Secret, and no mapping instead of it."""
    if path[0] != "metadata" or len(path) == 1:
        return len(path) == 1 and path[0] in _SHOWN_OF_SECRETS
    return path[1] in _SHOWN_OF_METADATA or (len(path) == 3 and path[1] in ("labels", "annotations"))


def is_secret(kind: str, path: Path) -> bool:
    """Whether a value that is neither a mapping nor a list is to be hidden."""
    if path[-1:] and path[-1] in _SECRET_TEXTS:
        return True
    if kind.casefold() in _SECRETS and path[:1] and not _is_open(path):
        return True
    # Only a Secret has stringData, however its kind is written.
    if "redisPassword" in path or path[:1] == ("stringData",):
        return True
    return "env" in path and _is_of_environment(path)


def _is_of_environment(path: Path) -> bool:
    """Whether something in an environment is to be hidden: all but names and well-formed references.

    `env` may also be the key of a label, whose value is shown. Only that of a container, in a list, is an environment
    when it is no list or mapping.
    """
    place = path.index("env")
    inside = path[place + 1 :]
    if not inside:
        return place > 0 and isinstance(path[place - 1], int)
    if isinstance(inside[0], int) and len(inside) > 1:
        return inside[1:] != ("name",) and not (inside[1] == "valueFrom" and len(inside) > 3)
    return True
