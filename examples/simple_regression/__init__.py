"""Regression on tables: the value of houses in California."""
