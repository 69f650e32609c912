"""Pictures of searches: tuned parameters, selected columns, bins."""
