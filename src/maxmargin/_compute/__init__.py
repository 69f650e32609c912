"""Everything that knows about hardware: jitted leaves, threads, memory."""
