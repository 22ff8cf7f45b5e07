"""Text one token after the other: a transformer that learns to go on."""
