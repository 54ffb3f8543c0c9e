"""The conformance rig: builds real kube-apiservers, asks them, records their answers and compares ours with them.

Not shipped. It may use everything of the project; nothing of the project may use it.
"""
