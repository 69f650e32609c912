"""Displays of choices: tuned parameters, selected columns, bins."""
