"""What the items ask for (gangs, shape) and what stands in them (census, groups, members, facts). Changes nothing."""
