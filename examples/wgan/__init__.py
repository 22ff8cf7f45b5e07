"""Handwriting of nobody: two networks that learn against each other."""
