"""How fast krmfn is, beside programs that do the same or less, measured in the same run.

`./dev bench` prints the table. Every row is a ratio, so that it means something on another machine.
Runs of the two sides take turns; the best of each are compared.
"""
