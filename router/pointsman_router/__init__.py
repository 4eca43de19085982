"""MCP in, MCP out: one address for the allowed tools of every registered server."""
