"""Lowering: from a program to units of work, from units to kernels and library calls, from those to a plan."""
