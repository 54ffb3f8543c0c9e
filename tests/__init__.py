"""Tests. A package, so that tests/conformance is not mistaken for the rig of that name."""
