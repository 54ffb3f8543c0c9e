"""Which gangs the items need (gangs, shape) and what is in them (census, groups, members, facts). Changes nothing."""
