"""The stacks behind `Graph.as_default()` and `Session.as_default()`, one of each per thread."""

import threading


class DefaultStack(threading.local):
    """A thread's stack of default objects, with strict nesting."""

    def __init__(self):
        self.items = []

    def top(self):
        return self.items[-1] if self.items else None

    def reset(self):
        """Leaves all blocks of this thread that are open; their ends do nothing."""
        self.items.clear()
        self.items = []


class _Pushed:
    """Context manager: `value` is the default inside the block; yields `value`."""

    __slots__ = ("stack", "value", "items")

    def __init__(self, stack, value):
        self.stack = stack
        self.value = value

    def __enter__(self):
        self.items = self.stack.items
        self.items.append(self.value)
        return self.value

    def __exit__(self, *exc):
        if self.stack.items and self.stack.items[-1] is self.value:
            self.stack.items.pop()
        elif self.items and exc[0] is None:  # without items, it was reset
            raise AssertionError(f"Nesting violated for default stack of {type(self.value)} objects: blocks must end "
                                 "in the opposite order in which they began, in the thread that began them.")


graphs = DefaultStack()
sessions = DefaultStack()


def push_graph(graph):
    return _Pushed(graphs, graph)


def push_session(session):
    return _Pushed(sessions, session)


def get_default_session():
    """Returns the innermost session made default in this thread, or None."""
    return sessions.top()
