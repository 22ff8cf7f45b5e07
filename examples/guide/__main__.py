"""`python -m examples.guide`."""

from examples.guide.main import main

main()
