"""An exported network learns a new task."""
