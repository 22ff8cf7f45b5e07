"""The `burn-train` command: what a training left in its artifact folder, as a table or as curves."""
