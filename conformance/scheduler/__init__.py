"""Real control planes decide about made-up gangs; what they did is recorded and replayed against the predictions.

Nothing here is shipped. `python -m conformance.scheduler --help` lists the commands, README.md says what is recorded.
"""
