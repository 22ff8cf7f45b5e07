"""A dataset of one's own from a CSV file."""
