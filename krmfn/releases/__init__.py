"""Releases of Kubernetes as data: what is served, which gates there are, and the schemas on disk."""
