"""After any edits the value is that of the same edits in plain data, other lines stay, a refused edit changes nothing.

The text is read again by libyaml after every edit. What stays: every line outside the lines of the edited entry, and
every comment that is not in what was replaced or taken out. Where anchors are shared, an edit may write aliases out.
"""

from __future__ import annotations

import json
import re
from random import Random
from typing import Any

from krmfn.krm import nodes
from krmfn.krm.composing import compose
from krmfn.krm.editing import Editor, same
from krmfn.krm.errors import EditRefused, Unreadable
from krmfn.krm.item import Item
from krmfn.krm.json_reading import compose_json
from krmfn.krm.lines import read_lines
from krmfn.krm.lookup import find_steps, read_key
from krmfn.krm.paths import Path
from krmfn.krm.style import detect_style
from krmfn.krm.values import to_value
from krmfn.krm.writing import to_plain
from tests.fuzz.texts import KEYS, write_document

GONE: Any = object()
STRINGS = [
    "",
    "a",
    "yes",
    "x: y",
    "- a",
    "# no",
    "line\n",
    "two\nlines",
    "  lead",
    "trail ",
    "é😀",
    "1e3",
    "{",
    "*a",
    "~",
    "0x1F",
]


class Impossible(Exception):
    """The edit has no meaning in plain data."""


def check(random: Random) -> None:
    """Edit one text several times, and another one with the same edits, which is looked at in the end only."""
    text, is_json = write_text(random)
    item, unseen = Item.parse(text.encode()), Item.parse(text.encode())
    item.frame.json = unseen.frame.json = is_json
    try:
        value = item.value
    except Unreadable:
        return
    for _ in range(random.choice([1, 1, 2, 4])):
        if value:
            edit(random, item, unseen, is_json)
    assert same(unseen.value, item.value), ("value", text, unseen.value, item.value)
    after = unseen.text
    # New pairs in braces look like those before them, and nothing follows a block scalar without a last line break.
    alike = after == item.text or "{" in text or text[-1:] not in "\r\n"
    assert alike, ("looking at it changed the text", text, after, item.text)
    assert same(to_value(read(after, is_json), after), item.value), ("text", text, after, item.text)


def write_text(random: Random) -> tuple[str, bool]:
    """A manifest, and whether it is JSON."""
    text = write_document(random)
    if random.random() < 0.9:
        return text, False
    try:
        value = Item.parse(text.encode()).value
    except Unreadable:
        value = {"a": {"b": [1, 2]}}
    indent = random.choice([None, None, 2, 4, 1])
    separators = random.choice([(",", ":"), (", ", ": "), (",", ": ")])
    return json.dumps(value, indent=indent, separators=separators) + random.choice(["", "\n"]), True


def make(item: Item, path: Path, new: Any) -> bool:
    """Make an edit; false where it is refused."""
    try:
        item.remove(path) if new is GONE else item.set(path, new)
    except (EditRefused, ValueError):
        return False
    return True


def edit(random: Random, item: Item, unseen: Item, is_json: bool) -> None:
    """One edit of both, and all that holds after it."""
    before, old = item.text, copy_plain(item.value)
    path, new = choose_edit(random, old)
    try:
        expected = apply(copy_plain(old), path, new)
    except Impossible:
        expected = GONE
    if not is_json and new is not GONE:
        check_lines(before, path, new)
    made = make(item, path, new)
    assert make(unseen, path, new) == made, ("refused by one of two", before, path, new, made)
    if not made:
        assert item.text == before, ("a refused edit left a part", before, item.text, path, new)
        assert same(item.value, old)
        assert expected is GONE or may_refuse(before, path, new), ("refused", before, path, new)
        return
    assert expected is not GONE or new is GONE, ("an edit without meaning was made", before, path, new, item.text)
    if expected is GONE:
        expected = old
    expected = narrow(expected, is_json)
    assert same(item.value, expected), ("value", before, path, new, item.text, item.value, expected)
    after = item.text
    again = to_value(read(after, is_json), after)
    assert same(again, expected), ("text", before, path, new, after, again, expected)
    check_rest(before, after, path, new, is_json)


def check_lines(text: str, path: Path, new: Any) -> None:
    """A new key is written where and how the nodes say, when the lines say it."""
    lines = read_lines(text)
    if lines is None or lines.find_gap(path) is None:
        return
    root = compose(text)
    assert root is not None
    style = detect_style(text, root, False, "\n")
    plain = to_plain(new)
    outcomes = []
    for known in (lines, None):
        editor = Editor(text, root, style, lambda _: False, known)
        try:
            editor.set(path, plain)
            assert not editor.again
        except EditRefused as refused:
            outcomes.append(str(refused))
        outcomes.append(str(editor.edits))
    assert outcomes[: len(outcomes) // 2] == outcomes[len(outcomes) // 2 :], (text, path, new, outcomes)


def copy_plain(value: Any) -> Any:
    """A copy in which nothing is shared, as aliases are."""
    if isinstance(value, dict):
        return {key: copy_plain(child) for key, child in value.items()}
    return [copy_plain(child) for child in value] if isinstance(value, list) else value


def read(text: str, is_json: bool) -> nodes.Node | None:
    return compose_json(text)[0] if is_json else compose(text)


def narrow(value: Any, is_json: bool) -> Any:
    """Numbers as they are read: in YAML floats without a fraction as integers, integers beyond 64 bits as floats."""
    if isinstance(value, dict):
        return {key: narrow(child, is_json) for key, child in value.items()}
    if isinstance(value, list):
        return [narrow(child, is_json) for child in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return float(value)
    if is_json:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


# --- what to edit ----------------------------------------------------------------------------------------------------


def choose_edit(random: Random, value: Any) -> tuple[Path, Any]:
    """A path and a value, or GONE."""
    paths = list_paths(value)
    path = random.choice(paths) if paths else ("a",)
    roll = random.random()
    if roll < 0.3:
        return path, GONE
    if roll < 0.55 or not paths:
        return path, write_value(random, 0)
    if roll < 0.65:
        return path, change(random, copy_plain(find(value, path)))
    if not paths:
        return (random.choice(KEYS),), write_value(random, 0)
    holder = random.choice([(), *paths])
    found = find(value, holder)
    if isinstance(found, list):
        return (*holder, random.choice([len(found), len(found), len(found) + 1])), write_value(random, 0)
    more: Path = random.choice([(), (), ("m",), ("m", 0), (0,)])
    return (*holder, random.choice(KEYS), *more), write_value(random, 0)


def list_paths(value: Any, path: Path = ()) -> list[Path]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found: list[Path] = []
    for part, child in children:
        found.append((*path, part))
        if len(path) < 6:
            found += list_paths(child, (*path, part))
    return found


def find(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def write_value(random: Random, depth: int) -> Any:
    roll = random.random()
    if depth < 3 and roll < 0.2:
        return {random.choice(KEYS): write_value(random, depth + 1) for _ in range(random.randint(0, 3))}
    if depth < 3 and roll < 0.35:
        return [write_value(random, depth + 1) for _ in range(random.randint(0, 3))]
    if roll < 0.7:
        return random.choice(STRINGS)
    return random.choice([0, 1, -7, 1.5, 2.0, 10**20, True, False, None, 2**63, 1e300])


def change(random: Random, value: Any) -> Any:
    """A collection with a few differences; something new for a scalar."""
    if isinstance(value, dict) and value:
        for _ in range(random.randint(1, 3)):
            key = random.choice([*value, "new"]) if value else "new"
            if random.random() < 0.4:
                value.pop(key, None)
            else:
                value[key] = write_value(random, 1)
        return value
    if isinstance(value, list) and value:
        roll = random.random()
        if roll < 0.3:
            for _ in range(random.randint(1, len(value))):
                del value[random.randrange(len(value))]
        elif roll < 0.6:
            value.insert(random.randint(0, len(value)), write_value(random, 1))
        else:
            value[random.randrange(len(value))] = write_value(random, 1)
        return value
    return write_value(random, 1)


def apply(value: Any, path: Path, new: Any) -> Any:
    """The edit in plain data. Raises Impossible."""
    if not path:
        return new
    part, rest = path[0], path[1:]
    if value is None:
        if new is GONE:
            raise Impossible
        if isinstance(part, int) and part:
            raise Impossible
        return {part: apply(None, rest, new)} if isinstance(part, str) else [apply(None, rest, new)]
    if isinstance(part, str) and isinstance(value, dict):
        if new is GONE and not rest:
            value.pop(part, None)
        elif part in value or new is not GONE:
            value[part] = apply(value.get(part), rest, new)
        return value
    if isinstance(part, int) and isinstance(value, list) and 0 <= part <= len(value):
        if new is GONE and not rest:
            del value[part : part + 1]
        elif part < len(value):
            value[part] = apply(value[part], rest, new)
        elif new is not GONE:
            value.append(apply(None, rest, new))
        return value
    raise Impossible


def may_refuse(text: str, path: Path, new: Any) -> bool:
    """Whether it is known why an edit cannot be made: a merge key, an odd key, the last entry of all."""
    several = re.search(r"[{,][^}]*[\n\r\x85\u2028\u2029]", text)  # a key of a flow on several lines
    return "<<" in text or "?" in text or several is not None or (new is GONE and len(path) == 1)


# --- what stays ------------------------------------------------------------------------------------------------------


def check_rest(before: str, after: str, path: Path, new: Any, is_json: bool) -> None:
    """Other lines and comments stay."""
    if before == after:
        return
    root = read(before, is_json)
    assert root is not None
    if has_duplicates(root):
        return
    start, end = find_region(before, root, path, new)
    touched = range(count_lines(before, start), count_lines(before, end) + 1)
    shared = not is_json and any(sign in before for sign in "*&")
    # The last block scalar may get another header; a new key comes before the others then, perhaps behind a dash.
    unfinished = before[-1] not in "\n\r\x85\u2028\u2029"
    stay = [
        line
        for number, line in enumerate(re.split(r"\r\n?|[\n\x85\u2028\u2029]", before))
        if number not in touched
        and line.strip()
        and not (shared and ("*" in line or "<<" in line))
        and not ("<<" in before and "}" in line)  # what was merged is written at the end of its flow
        and not (unfinished and re.search(r"[|>][+1-9]*(\s|$)", line))
    ]
    lines = iter(re.split(r"\r\n?|[\n\x85\u2028\u2029]", after))
    for line in stay:
        dashes = line.lstrip(" -\t").rstrip(" \t") if unfinished else line
        assert any(line == other or is_comment_of(line, other) or dashes == other.strip(" \t") for other in lines), (
            "a line is not as it was",
            line,
            before,
            path,
            new,
            after,
        )
    if not is_json:
        kept = list_comments(after)
        for offset, comment in list_comments_with_places(before, root):
            if not start <= offset < end:
                assert comment in kept, ("a comment is gone", comment, before, path, new, after)
                kept.remove(comment)


def is_comment_of(line: str, other: str) -> bool:
    """Whether two lines are one comment, which may be indented less behind a block scalar."""
    return line.lstrip()[:1] == "#" and line.strip() == other.strip()


def find_region(text: str, root: nodes.Node, path: Path, new: Any) -> tuple[int, int]:
    """Where the edited entry stands: what is replaced or taken out, or the collection that gets something."""
    steps = find_steps(root, path)
    if len(steps) == len(path) and steps:
        while len(steps) > 1 and len(_spans(steps[-1].holder)) == 1:
            steps.pop()  # the only child goes, and its parent becomes empty
        spans, place = _spans(steps[-1].holder), steps[-1].place
        begin, end = spans[place]
        if steps[-1].holder.flow:
            return spans[max(place - 1, 0)][0], spans[min(place + 1, len(spans) - 1)][1]
        if isinstance(steps[-1].holder, nodes.Sequence):
            begin = spans[place - 1][1] if place else steps[-1].holder.start  # with its dash
        line = text[:begin].splitlines(keepends=True)[-1:] or [""]
        if place == 0 and len(spans) > 1 and line[0].strip(" \t\r\n"):
            return begin, max(end, spans[1][0])  # what follows a first child takes its place behind the dash
        if new is GONE or isinstance(steps[-1].node, nodes.Parent):  # with the comment on its last line
            breaks = [place for sign in "\n\r\x85\u2028\u2029" if (place := text.find(sign, end)) >= 0]
            end = min(breaks, default=len(text))
        return begin, end
    holder = steps[-1].node if steps else root
    if isinstance(holder, nodes.Parent) and not holder.flow:
        children = [pair[1] for pair in holder.pairs] if isinstance(holder, nodes.Mapping) else holder.items
        return children[-1].end, children[-1].end
    key = steps[-1].key if steps else None
    return min(holder.start, key.start if key is not None else holder.start), max(holder.end, holder.start)


def _spans(holder: nodes.Parent) -> list[tuple[int, int]]:
    """Where the entries of a collection begin and end."""
    if isinstance(holder, nodes.Sequence):
        return [(child.start, max(child.end, child.start)) for child in holder.items]
    return [(key.start, max(child.end, key.end)) for key, child in holder.pairs]


def count_lines(text: str, offset: int) -> int:
    return len(re.split(r"\r\n?|[\n\x85\u2028\u2029]", text[:offset])) - 1


def has_duplicates(root: nodes.Node) -> bool:
    names = [[read_key(key) for key, _ in node.pairs] for node in nodes.walk(root) if isinstance(node, nodes.Mapping)]
    return any(len(set(own)) < len(own) for own in names)


def list_comments_with_places(text: str, root: nodes.Node) -> list[tuple[int, str]]:
    masked = list(text)
    for node in nodes.walk(root):
        if isinstance(node, nodes.Scalar) and node.end > node.start:
            masked[node.start : node.end - 1] = "x" * (node.end - node.start - 1)
    found = re.finditer(r"(?:(?<=[ \t\n\r\x85\u2028\u2029])|^)#[^\n\r\x85\u2028\u2029]*", "".join(masked))
    return [(match.start(), match[0].rstrip()) for match in found]


def list_comments(text: str) -> list[str]:
    root = compose(text)
    return [comment for _, comment in list_comments_with_places(text, root)] if root else []
