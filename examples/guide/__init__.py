"""The guide: a network that reads digits, from data to inference."""
