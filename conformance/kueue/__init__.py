"""The manager of Kueue on a real control plane: what it admits in made-up worlds of queues and jobs, and what `krmfn`
says of the same worlds."""
