"""The update plan: what applying a new state over an old one does to each object.

| module | holds |
|---|---|
| `records` | Plan, Entry and what they consist of; the reports read nothing else |
| `making` | pairs objects and judges each pair |
| `changes` | which fields differ |
| `consequences` | what a replacement means for running pods, and what has to be renamed with it |
"""
