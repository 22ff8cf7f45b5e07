"""From a program to something that runs, for any compiled target: what lowering asks, and what running needs."""
