"""Chat clients that speak MCP: tools for their agents, and forms for those in front of them."""
