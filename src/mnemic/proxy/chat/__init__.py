"""The OpenAI Chat Completions API, which most providers and local servers speak.

reading.py    the conversation of a request
rewriting.py  the body for the provider
relay.py      what the client sees of the provider's responses
messages.py   messages: their text, calls and results
assembly.py   a message put together from the chunks of a stream
"""
