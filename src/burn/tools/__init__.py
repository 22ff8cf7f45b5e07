"""Commands around the package: what is missing, what is installed."""
