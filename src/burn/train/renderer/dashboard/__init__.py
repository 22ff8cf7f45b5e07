"""The dashboard: a Textual app in a process of its own, fed by the renderer beside the training."""
