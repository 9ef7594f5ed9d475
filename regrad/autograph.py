"""`tf.autograph`: Python's loops and branches are not rewritten, so what asks for it to be left out changes nothing."""

import types


def do_not_convert(func=None):
    """Decorator that changes nothing; used as `@do_not_convert` or `@do_not_convert()`."""
    return (lambda f: f) if func is None else func


experimental = types.SimpleNamespace(do_not_convert=do_not_convert)


def __getattr__(name):
    from regrad.core.absent import hint

    raise AttributeError(f"module 'regrad.autograph' has no attribute {name!r}{hint('regrad.autograph', name)}", name=name)
