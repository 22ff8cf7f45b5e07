"""The version of the distribution, its only source."""

__version__ = "0.1.0"
