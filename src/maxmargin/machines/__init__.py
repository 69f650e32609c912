"""The estimators: they validate, build a problem, call a solver and store the answer."""
