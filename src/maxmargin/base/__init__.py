"""What every room needs and no mathematics: types, tables, targets, parameters, threads, memory, stopping."""
