"""Models that a server holds: opened from files or given by a program."""
