"""Real agents through `mnemic proxy`, against the strict stand-in of the providers: `make test-clients`.

It installs the agents with npm into a temporary folder, so it needs npm and a package registry, and takes
minutes. The sessions hold turns that call only memory tools, turns that call them beside the agent's own
tools in both orders, and resumed conversations.

    npm.py         installs the agents
    programs.py    how each agent is configured and called
    scripts.py     what the scripted model does
    driving.py     runs one agent, and counts
    recording.py   cuts requests down to fixtures (`python -m tests.clients --record tests/proxy/requests`)
"""
