"""Memory for agents that speak the Model Context Protocol: tools to call, resources to read.

`client` says who asks and what he may do, `tool` what a tool is. `tools` are Mnemic's own, `reference_tools`
and `chatgpt_tools` those that other programs expect, `resources` what can be read. `server` puts them
together; `stdio` and `http` carry it to a client. All of it needs the extra ``mnemic[mcp]``.
"""
