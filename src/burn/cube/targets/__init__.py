"""Targets: what turns a kernel into something that runs. Each states its abilities and emits what is left."""
