"""Serving a model: on one machine, with Ray Serve, and in Kubernetes."""
