"""A strict, scripted stand-in of three APIs: Anthropic Messages, OpenAI Chat Completions and Responses.

It rejects what the providers reject, so that a test of a proxy fails where a provider would answer 400:
calls without results, repeated ids, changed thinking, lost reasoning. It follows a script instead of a
model, keeps every request as it came, simulates the prompt cache, and notes every request that does not
repeat the one before it and append to it.

    server.py          the running stand-in, and what a test reads from it: `Upstream`
    wire.py            HTTP/1.1 on a stream, with every byte under control
    script.py          what the model says and does, by prompt and turn; scripted failures
    places.py          where a conversation is in the script
    rules.py           settings of the stand-in
    conversations.py   whether requests only append
    prefix_cache.py    the prompt cache of both providers
    anthropic_api.py, anthropic_checks.py, thinking.py
    chat_api.py
    responses_api.py, responses_checks.py
"""
