"""Context paging: the window of an agent as virtual memory over the same database.

Everything that an agent reads (files, output of commands, search results) is an *object* of a *session*.
An object is shown at one of five levels: 0 is the full text, 1 about 30 % of it, 2 about 5 %, 3 one line,
4 nothing. A shorter level says what it lost and which questions it can still answer; the full text stays
stored, so that a *fault* brings it back: a micro-fault answers one question from it, a restore appends it
at the end of the window.

    levels/    makes the shorter texts, by kind of content, without a model
    policy/    decides levels: admission, zones of pressure, epochs, faults; pure functions over a `Window`
    window.py  the state of one session in memory

The provider caches the unchanged beginning of a prompt, and rewriting it costs more than it saves. So
within an *epoch* the window only grows: an object keeps the level at which it was first sent. A new epoch
lowers many objects at once, and only if that pays.
"""
