"""The settings of a run: the functionConfig or `krmfn.yaml`, and the annotations on resources.

`schemas/krmfn/v1alpha1/gangscheduling.json` is the single source of keys, allowed values, defaults, descriptions and
annotation names; the code here only interprets it. Must not know sources, targets or checks.
"""

from krmfn.config.problems import ConfigError, Mistake
from krmfn.config.reading import check_feature_gates, read_ruling, read_settings
from krmfn.config.selection import Selection, known_annotations, options_for
from krmfn.config.settings import GangOptions, KubeRay, Override, Ruling, Rulings, Select, Settings

__all__ = [
    "ConfigError",
    "GangOptions",
    "KubeRay",
    "Mistake",
    "Override",
    "Ruling",
    "Rulings",
    "Select",
    "Selection",
    "Settings",
    "check_feature_gates",
    "known_annotations",
    "options_for",
    "read_ruling",
    "read_settings",
]
