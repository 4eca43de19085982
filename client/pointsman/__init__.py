"""The command `pointsman`: the whole product on one machine, and an agent's view of a router."""
