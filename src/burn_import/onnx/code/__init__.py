"""The pieces of Python source that rows of operators build: expressions, names, fields, classes, a file's frame."""
