"""YAML at random: manifests in every style that YAML has, and spoiled ones. Knows the syntax, not what it means."""

from __future__ import annotations

from random import Random

WORDS = [
    "a",
    "train-1",
    "b c",
    "x:y",
    "k#v",
    "registry.io/a:1.2",
    "app/name",
    "it's",
    "$(A)",
    "a,b",
    "-x",
    "..",
    "=",
    "~a",
    "a?b=c",
]
PLAIN = [
    *(
        "1",
        "-7",
        "0",
        "00",
        "017",
        "0o17",
        "0x1F",
        "0b11",
        "1_000",
        "1e3",
        "1.50",
        ".5",
        "5.",
        "+1",
        "1:30",
        "2020-01-02",
    ),
    *("yes", "No", "on", "off", "true", "FALSE", "null", "~", "Null", "y", "n", ".inf", "-.INF", ".nan", "1e400", "08"),
    *("9223372036854775808", "18446744073709551616", "-9223372036854775809", "1e-7", "0.1e1", "123456789012345678901"),
    *("0b-11", "0b+_1", "-0b-1", "+0b1", "0B-1", "0o-7", "-0o+7", "0x-1", "0-7", "0b1_1", "-0x_F", "0b" + "1" * 64),
    *("é", "漢字", "\U0001f600", "a\u00a0b", "<<", "!x"),
]
KEYS = [
    *("a", "b", "c", "name", "kind", "spec", "metadata", "labels", "app/name", "x-y", "on", "1", "1.0", "true", "a b"),
    *("é", "~", "<<", "0x1f", "8589935105.0", "k.v/w", '"a\\/b"'),
]
QUOTED = ["", " ", "a", "a b", "yes", "1", "# no", "- a", "a: b", "{", "]", "é", "\U0001f600", "*a", "&a", "tab\there"]
ESCAPES = [
    "\\n",
    "\\t",
    '\\"',
    "\\\\",
    "\\u00e9",
    "\\x41",
    "\\/",
    "\\0",
    "\\e",
    "\\N",
    "\\_",
    "\\L",
    "\\U0001F600",
    "\\ ",
]
TAGS = ["!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq", "!!binary", "!own", "!", "!!timestamp"]
COMMENTS = ["# c", "#", "#c", "# 'odd\" {", "# - a: b", "#\tt", "# é"]
PIECES = [
    *(
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        "\n",
        "\n\n",
        "\n- ",
        " ",
        "  ",
        "\t",
        "|",
        ">",
        "#",
        " # ",
        ": ",
        ":",
        ",",
        "&a ",
        "*a",
    ),
    *(
        "---\n",
        "...\n",
        "? ",
        "-",
        "- ",
        "|+\n",
        "!!str ",
        "%",
        "@",
        "`",
        "\r",
        "\x85",
        "\u2028",
        "\ufeff",
        "\\",
        "<<: ",
    ),
]


class Writer:
    """One text; every choice is the random source's."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names: list[str] = []
        #: How rare the rare forms are in this text: plain texts are what most people write.
        self.odd = random.choice([0.0, 0.02, 0.1, 0.3])
        self.noise = random.choice([0.0, 0.05, 0.25])
        self.step = random.choice([2, 2, 2, 4, 1, 3])
        self.wide = random.random() < 0.3
        self.anchored = random.random() < 0.3

    def rare(self, factor: float = 1.0) -> bool:
        return self.random.random() < self.odd * factor

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def document(self) -> str:
        """Lines of a mapping, mostly."""
        start = self.pick("", "", "", "# c\n", "\n", "---\n") if self.noise else ""
        if self.rare(0.2):
            start = self.pick("--- ", "%YAML 1.1\n---\n", "--- !!map\n", "\ufeff", "---\n# c\n", "  \n")
        indent = self.random.choice([0, 0, 0, 0, 2]) if self.rare() else 0
        return start + self.mapping(indent, 0)

    def filler(self, indent: int) -> str:
        text = ""
        while self.random.random() < self.noise:
            column = self.random.choice([indent, 0, indent + 2, max(indent - 2, 0), indent + 1])
            text += self.pick("", "", " " * column, " " * column + self.random.choice(COMMENTS)) + "\n"
        return text

    def tail(self) -> str:
        if self.random.random() < self.noise:
            return self.pick(" ", "  ", "\t") + self.pick("", self.random.choice(COMMENTS))
        return ""

    def properties(self) -> str:
        text = ""
        if self.anchored and self.random.random() < 0.15:
            name = self.pick("a", "b", "x-1", "c_d")
            self.names.append(name)
            text += f"&{name} "
        if self.rare(0.3):
            tag = self.random.choice(TAGS)
            text = self.pick(f"{tag} {text}", f"{text}{tag} ")
        return text

    def mapping(self, indent: int, depth: int) -> str:
        text = ""
        for _ in range(self.random.choice([1, 1, 2, 2, 3, 5])):
            text += self.filler(indent) + " " * indent + self.entry(indent, depth)
        return text

    def entry(self, indent: int, depth: int) -> str:
        """A pair, from the column of its key on."""
        if self.rare(0.15):
            return self.explicit(indent, depth)
        key = self.key()
        return key + self.pick(":", ":", ":", " :" if self.odd else ":") + self.value(indent, depth)

    def explicit(self, indent: int, depth: int) -> str:
        inner = indent + self.random.choice([2, 2, 4])
        gap = " " * (inner - indent - 1)
        block = self.block_scalar(indent + 1)
        key = self.pick(
            self.scalar(inner) + "\n", self.flow(2) + "\n", block, self.mapping(inner, depth + 1).lstrip(" ")
        )
        colon = " " * indent + ":"
        value = self.pick("", colon + gap + self.inline(inner, depth), colon + self.value(indent, depth))
        return "?" + gap + key + value

    def key(self) -> str:
        if self.anchored and self.names and self.random.random() < 0.15:
            if self.random.random() < 0.6:
                return "<<"
            return "*" + self.random.choice(self.names) + " "
        word = self.random.choice(KEYS) if self.rare() or self.random.random() < 0.4 else self.pick(*"abcdefgh")
        if self.rare():
            word = self.pick(f"'{word}'", f'"{word}"')
        return self.properties() + word if self.rare() else word

    def value(self, indent: int, depth: int) -> str:
        """What follows a colon, with the line break."""
        roll = self.random.random()
        if depth < 4 and roll < 0.45:
            head = (" " + self.properties()).rstrip() + self.tail() + "\n" + self.filler(indent)
            if self.random.random() < 0.6:
                return head + self.mapping(indent + self.step, depth + 1)
            return head + self.sequence(indent + (self.step if self.wide else 0), depth + 1)
        if roll < 0.5:
            return self.tail() + "\n"
        return self.pick(" ", " ", " ", "  ", "\t" if self.odd else " ") + self.inline(indent + 1, depth)

    def inline(self, indent: int, depth: int) -> str:
        """A value on the line where it begins, with the line break."""
        roll = self.random.random()
        if roll < 0.12:
            return self.properties() + self.block_scalar(indent)
        if roll < 0.3:
            return self.properties() + self.flow(depth) + self.tail() + "\n"
        if self.anchored and self.names and roll < 0.5:
            return "*" + self.random.choice(self.names) + self.tail() + "\n"
        return self.properties() + self.scalar(indent) + self.tail() + "\n"

    def sequence(self, indent: int, depth: int) -> str:
        text = ""
        for _ in range(self.random.choice([1, 1, 2, 3])):
            text += self.filler(indent) + " " * indent + "-"
            gap = self.pick(" ", " ", " ", "   ", "\t" if self.rare() else " ")
            inner = indent + 1 + len(gap)
            roll = self.random.random()
            if depth < 4 and roll < 0.35:
                text += gap + self.mapping(inner, depth + 1).lstrip(" \n")
            elif depth < 4 and roll < 0.42:
                text += gap + self.sequence(inner, depth + 1).lstrip(" \n")
            elif roll < 0.47:
                text += self.tail() + "\n"
            elif roll < 0.5:
                text += (" " + self.properties()).rstrip() + "\n" + self.mapping(inner, depth + 1)
            else:
                text += gap + self.inline(indent + 1, depth)
        return text

    def scalar(self, indent: int) -> str:
        roll = self.random.random()
        if roll < 0.5 or not self.odd:
            if self.random.random() < 0.25:
                return self.pick(*PLAIN[:-3])
            return self.random.choice(WORDS)
        if roll < 0.6:
            return self.random.choice(PLAIN)
        fold = "\n" + " " * (indent + self.random.choice([0, 1, 3])) if self.rare() else " "
        words = [self.random.choice(QUOTED) for _ in range(self.random.choice([1, 1, 2, 3]))]
        if roll < 0.75:
            return "'" + fold.join(words).replace("'", "''") + "'"
        if roll < 0.9:
            words = [word.replace('"', '\\"') + self.pick("", "", self.random.choice(ESCAPES)) for word in words]
            return '"' + fold.join(words) + '"'
        return fold.join(self.pick("a", "b c", "x", "1") for _ in words)

    def block_scalar(self, indent: int) -> str:
        """A literal or folded one, with its lines."""
        mark = self.pick("|", "|", "|", ">") + self.pick("", "", "-", "+")
        column = indent + self.random.choice([0, 1, 1, 3])
        explicit = self.rare()
        lines = [self.pick("a", "b: c", "- d", "# e", "  f", "é", "'", "[ {", "x  ") for _ in range(self.pick_count())]
        if self.rare():
            lines = [self.pick("", "  ", line) for line in lines]
        if explicit:
            mark = mark[:1] + str(self.random.randint(1, 4)) + mark[1:]
        body = "".join((" " * column + line if line.strip() or self.rare() else line) + "\n" for line in lines)
        if self.random.random() < self.noise:
            body += self.pick("\n", "\n\n", " \n", " " * column + "\n", " " * (column + 1) + "\n")
        return mark + self.tail() + "\n" + body

    def pick_count(self) -> int:
        return self.random.choice([0, 1, 1, 2, 3]) if self.odd else self.random.choice([1, 2, 3])

    def flow(self, depth: int) -> str:
        gap = self.pick("", "", " ", "\n" + " " * 9 if self.rare() else " ")
        comma = self.pick(", ", ", ", ",", " ,") + ("\n" + " " * 8 if self.rare() else "")
        if self.random.random() < 0.5:
            children = [self.flow_child(depth) for _ in range(self.random.choice([0, 1, 2, 3]))]
            text = comma.join(children)
            return "[" + gap + text + ("," if children and self.rare() else "") + gap + "]"
        pairs = []
        for _ in range(self.random.choice([0, 1, 2, 3])):
            key = self.key()
            colon = self.pick(": ", ": ", ":  ", ":" if self.odd else ": ")
            pairs.append(key if self.rare(0.5) else key + colon + self.flow_child(depth))
        text = comma.join(pairs)
        return "{" + gap + text + ("," if pairs and self.rare() else "") + gap + "}"

    def flow_child(self, depth: int) -> str:
        if depth < 4 and self.random.random() < 0.2:
            return self.flow(depth + 1)
        if self.anchored and self.names and self.random.random() < 0.2:
            return "*" + self.random.choice(self.names) + " "
        word = self.scalar(8)
        return word if not set(word) & set(",[]{}") or word[0] in "'\"" else "w"


def write_document(random: Random) -> str:
    """The text of one document."""
    writer = Writer(random)
    text = writer.document()
    if random.random() < 0.12:
        text = text.rstrip("\n")
    if random.random() < 0.1:
        text = text.replace("\n", random.choice(["\r\n", "\r\n", "\r\n", "\r", "\x85", "\u2028"]))
    return text


def spoil(random: Random, text: str) -> str:
    """A few characters replaced, inserted or cut; lines moved."""
    for _ in range(random.randint(1, 3)):
        place = random.randint(0, len(text))
        roll = random.random()
        if roll < 0.6:
            text = text[:place] + random.choice(PIECES) + text[place + random.choice([0, 0, 1, 2]) :]
        elif roll < 0.8:
            lines = text.split("\n")
            line = random.randrange(len(lines))
            lines[line] = random.choice([" " + lines[line], lines[line][1:], "", lines[random.randrange(len(lines))]])
            text = "\n".join(lines)
        else:
            text = text[:place] + text[place + random.randint(1, 8) :]
    return text


def write_any(random: Random) -> str:
    """A document, spoiled in one of three cases."""
    text = write_document(random)
    return spoil(random, text) if random.random() < 0.33 else text
