"""Memory for agents that speak the Model Context Protocol: tools to call, resources to read.

`client_scope` is the memory and the permissions of a client, `tool` defines a tool. `tools` are Mnemic's own
tools, `reference_tools` and `chatgpt_tools` those that other programs expect; `resources` are the resources.
`server` combines them; `stdio` and `http` are the transports. The package needs the extra ``mnemic[mcp]``.
"""
