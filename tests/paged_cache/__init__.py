"""The paged cache: pool, tables, copy-on-write, prefix cache."""
