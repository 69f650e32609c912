"""Pictures of results: arrays first, drawing second."""
