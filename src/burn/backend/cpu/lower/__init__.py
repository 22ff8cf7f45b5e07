"""Lowering: from a program to units of work, from units to kernels, from those to a plan."""
