"""The rig's commands: python -m conformance <command>. README.md says when each is used."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from conformance import commands
from conformance.ending import end


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance", description=__doc__)
    parsed = commands.add_commands(parser).parse_args(arguments)
    result: int = parsed.run(parsed)
    return result


if __name__ == "__main__":
    end(main)
