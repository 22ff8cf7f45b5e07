"""Attention as one node: `find` recognises it on a program, whoever wrote it there; `form` is what it does, as data."""
