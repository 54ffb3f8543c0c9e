"""Strings by format: such as it takes, such as it does not, and such as only look alike.

Formats are named as in the schemas. Must not know which field has which.
"""

from __future__ import annotations

from random import Random

WORDS = (
    "alpha",
    "beam",
    "core",
    "dock",
    "edge",
    "flow",
    "grid",
    "hub",
    "ion",
    "joule",
    "knot",
    "lane",
    "mesh",
    "node0",
    "orb",
)
LONG_LABEL = "m" * 63
LONG_SUBDOMAIN = ".".join(["k" * 63] * 3 + ["j" * 61])

GOOD: dict[str, tuple[str, ...]] = {
    "short": ("a", "7", "0-0", "a1", "x--y", LONG_LABEL, "1" * 63, "true", "null", "no", "1e3"),
    "long": (
        "a",
        "7",
        "a.b",
        "1.2.3.4",
        "x--y.z",
        LONG_SUBDOMAIN,
        LONG_LABEL + "m",
        "q" * 253,
        "1e3",
        "~".replace("~", "n"),
    ),
    "label-key": (
        "a",
        "A",
        "9",
        "A_b.c-D",
        "a.b/C",
        "example.com/rack",
        "topology.kubernetes.io/zone",
        "x/" + "y" * 63,
        LONG_SUBDOMAIN + "/z",
        "0/0",
        "kubernetes.io/hostname",
    ),
    "segment": (
        "Job",
        "RayCluster",
        "a b",
        "..a",
        "...",
        "ünï",
        "\n",
        " ",
        "a:b",
        "a,b",
        "🚢",
        "s" * 300,
        "\u0000",
        "-",
        "A?b",
    ),
    "label-value": ("", "a", "A", "a.b_c-D", "9" * 63),
    "any": ("", "a", " ", "x y\nz", "ü"),
}

BAD: dict[str, tuple[str, ...]] = {
    "short": (
        "",
        "A",
        "a.b",
        "a_b",
        "-a",
        "a-",
        "a b",
        " a",
        "a ",
        "a\n",
        "\ta",
        "é",
        "a/b",
        "a..b",
        ".a",
        "a.",
        "m" * 64,
        "é" * 32,
        "-" * 64,
        "A" * 64,
        "a.B",
        "a.b." + "c" * 60,
        "日本",
        "ａ",
        "a%b",
        "a\u0000",
        "²",
        "ı",
        "K",
        "a\u200b",
        "*",
        "a:b",
        "--",
        "_",
    ),
    "long": (
        "",
        "A",
        "A.b",
        "a..b",
        ".a",
        "a.",
        "-a",
        "a-",
        "a.-b",
        "a-.b",
        "a_b",
        "a b",
        "a\n",
        "a.b\n",
        "é",
        "a/b",
        "q" * 254,
        "é" * 127,
        LONG_SUBDOMAIN + "x",
        "A" * 254,
        "*.a",
        "a.*",
        ".",
        "..",
        "a,b",
        "a\u0000b",
        "🚢",
        " ",
        "a. b",
        "٣",
        "%61",
    ),
    "label-key": (
        "",
        "/",
        "a/",
        "/a",
        "a//b",
        "a/b/c",
        "A.b/c",
        "a b",
        "-a",
        "a-",
        "_a",
        "a.",
        "x/" + "y" * 64,
        "y" * 64,
        "é",
        "a/é",
        "q" * 254 + "/a",
        "a..b/c",
        "a_b/c",
        "a/-b",
        "a/b-",
        " a",
        "a\n",
        "a/b\n",
        "/" + "z" * 64,
        "//",
        "a/b/",
        "A/",
        "-/a",
        "é/é",
        "a/ b",
        "🚢/x",
        "a/b c",
        "./a",
    ),
    "segment": ("", ".", "..", "a/b", "a%b", "%", "/", "%/", "/%/", "a%2Fb", "../a"),
    "label-value": ("-a", "a-", "a b", "é", "y" * 64, "a/b", ".", "_", "a\n", " "),
    "any": ("",),
}

NEAR = "-._/ %:,*@\nA0é²\u0130"


def good(form: str, rng: Random) -> str:
    """A string that the format takes, ordinary ones three times out of four."""
    if rng.random() < 0.25:
        return rng.choice(GOOD[form])
    word = rng.choice(WORDS)
    if rng.random() < 0.6:
        word += rng.choice(("-", "")) + str(rng.randrange(1000))
    if form == "long" and rng.random() < 0.3:
        word += "." + rng.choice(WORDS)
    if form == "label-key" and rng.random() < 0.6:
        word = f"{rng.choice(('example.com', 'cloud.example', 'k8s.io'))}/{word}"
    if form == "segment":
        word = word.capitalize()
    return word


def bad(form: str, rng: Random) -> str:
    """A string that the format refuses, or one character away from one that it takes (which may be taken, too)."""
    if form in BAD and rng.random() < 0.7:
        return rng.choice(BAD[form])
    text = good(form, rng)
    place = rng.randrange(len(text) + 1)
    return text[:place] + rng.choice(NEAR) + text[place + rng.randrange(2) :]
