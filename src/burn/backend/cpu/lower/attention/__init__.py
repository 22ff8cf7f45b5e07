"""Attention in tiles: products, softmax and weighted sums in one kernel, without the scores in memory.

`choice` says where one kernel is faster than three steps and in which tiles it goes; `kernel` writes it.
"""
