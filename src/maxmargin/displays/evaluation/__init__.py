"""Pictures of how good a model is."""
