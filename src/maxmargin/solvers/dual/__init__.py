"""Everything that solves a BoxQP."""
