"""Shared foundations without mathematics: types, tables, targets, parameters, threads, memory, stopping."""
