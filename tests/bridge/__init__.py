"""The link bridge: its policies, and what they do to pods."""
