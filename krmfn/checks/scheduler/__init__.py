"""Stage scheduler: what the API server stores and the scheduler never binds, or binds in parts.

Most of it is silent in the cluster: pods held back before the scheduling queue get no condition and no event.
"""

TOPICS = ("links", "quorum", "trees", "agreement", "hindrances", "reuse", "fit", "topology", "gating", "configuration")
