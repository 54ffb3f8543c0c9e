"""The parser of YAML without libyaml: PyYAML's own, with the interface of libyaml's."""

from yaml.parser import Parser
from yaml.reader import Reader
from yaml.scanner import Scanner


class PureParser(Reader, Scanner, Parser):
    """`check_event` and `get_event` over a text. Raises YAMLError for what cannot be read."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
