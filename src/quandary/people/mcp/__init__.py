"""Chat clients that speak MCP: tools for their agents, and forms for the people in front of them."""
