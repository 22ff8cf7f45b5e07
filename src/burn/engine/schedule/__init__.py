"""What runs when and where: what shares a kernel, how values are read, where they lie, what need not run again."""
