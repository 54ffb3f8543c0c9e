"""What is known of the fields of all kinds, for people, agents and editors: see `lines`."""
