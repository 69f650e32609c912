"""The estimators: they validate the input, build a problem, call a solver and store the solution."""
