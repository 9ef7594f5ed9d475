"""`tf.autograph`: Python's loops and branches are not rewritten, so what asks for it to be left out changes nothing."""

import types

from regrad.core.lazy import names_of

__getattr__, __dir__ = names_of(__name__, {})[:2]

def do_not_convert(func=None):
    """Decorator that changes nothing; used as `@do_not_convert` or `@do_not_convert()`."""
    return (lambda f: f) if func is None else func


experimental = types.SimpleNamespace(do_not_convert=do_not_convert)
