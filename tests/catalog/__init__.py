"""Every cited number, counted or read a second time."""
