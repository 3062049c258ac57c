"""Every public callable under hostile arguments: `make fuzz`."""
