"""How fast krmfn is, beside programs that do the same or less, measured in the same run.

`./dev bench` prints the table. Every row is a ratio, so that it means something on another machine.
Runs of the two sides take turns; the best of each are compared.

Where a row misses its bound, no single part of a run is large any more. The command line shares among processes what it
does to each document or object alone; a program that it is compared with gets as many processors. The function does not
share its work: gangs depend on each other (names, marks, gangs over several resources), and each text would be read
twice, once to find the gang and once to edit it.
"""
