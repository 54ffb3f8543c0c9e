"""Pods: their whole spec, as a pod has it and as a template does; what the server fills in, what can change."""
