"""A renderer of one's own, and a training that uses it."""
