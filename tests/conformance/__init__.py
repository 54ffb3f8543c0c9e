"""The server checks against recorded answers of real API servers, and their own parts."""
