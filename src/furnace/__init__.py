"""The inference server: models and records behind an HTTP interface.

Nothing is exported yet.
"""

__all__: list[str] = []
