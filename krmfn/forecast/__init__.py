"""What would run: every gang of the input against the cluster of the facts, by proof or by the scheduler itself.

`forecast` takes what the checks prove (never) and, where a simulator is at hand, asks the real scheduler's code for the
rest. Copies nothing of its scoring. Knows neither files nor formats.
"""

from __future__ import annotations

from krmfn.forecast.outlook import forecast
from krmfn.forecast.question import Ask
from krmfn.forecast.standing import Load, Outlook, Place, Standing

__all__ = ["Ask", "Load", "Outlook", "Place", "Standing", "forecast"]
