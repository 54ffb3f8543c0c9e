"""The stage `server`: what krmfn.server would refuse of the items, as findings with their place and what to do."""

from krmfn.checks.server.stage import check_items as check

__all__ = ["check"]
