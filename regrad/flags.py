"""`tf.app.flags`: options of a program, defined where they are used and read from the command line.

    tf.app.flags.DEFINE_float("rate", 0.1, "learning rate")
    tf.app.flags.FLAGS.rate        # 0.1, or what --rate= says
"""

import sys


class _Flag:
    def __init__(self, name, default, help, parse):
        self.name, self.default, self.help, self.parse = name, default, help, parse
        self.value = default


class FlagValues:
    """All options as attributes. They are read from sys.argv when first asked for; setting one overrides it."""

    def __init__(self):
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False

    def __call__(self, argv):
        """Reads `argv` (with the program's name first); returns what is left of it.

        Raises:
          ValueError: a value of the wrong kind, or none where one is needed.
        """
        self.__dict__["_parsed"] = True
        rest, words = list(argv[:1]), list(argv[1:])
        while words:
            word = words.pop(0)
            if word == "--":
                return rest + words
            name, equals, text = word.lstrip("-").partition("=")
            flag = self._flags.get(name)
            if not word.startswith("-") or flag is None:
                off = self._flags.get(name[2:]) if word.startswith("--no") and not equals else None
                if off is not None and off.parse is _boolean:
                    off.value = False
                else:
                    rest.append(word)
                continue
            if not equals and flag.parse is _boolean:
                text = "true"
            elif not equals:
                if not words:
                    raise ValueError(f"flag --{name} needs a value")
                text = words.pop(0)
            try:
                flag.value = flag.parse(text)
            except ValueError as error:
                raise ValueError(f"flag --{name}={text}: {error}") from None
        return rest

    def __getattr__(self, name):
        if name not in self._flags:
            raise AttributeError(f"no flag {name!r} is defined")
        if not self._parsed:
            self(sys.argv)
        return self._flags[name].value

    def __setattr__(self, name, value):
        if name not in self._flags:
            raise AttributeError(f"no flag {name!r} is defined")
        self._flags[name].value = value

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def __delattr__(self, name):
        del self._flags[name]

    def flag_values_dict(self):
        """Returns {name: value}."""
        return {name: getattr(self, name) for name in self._flags}


FLAGS = FlagValues()


def _boolean(text):
    if text.lower() not in ("true", "t", "1", "false", "f", "0"):
        raise ValueError("neither true nor false")
    return text.lower() in ("true", "t", "1")


def _definer(parse, kind):
    def define(name, default, help, flag_values=FLAGS, **kwargs):
        if name in flag_values:
            raise ValueError(f"The flag {name!r} is defined twice.")
        flag_values._flags[name] = _Flag(name, default, help, parse)
        flag_values.__dict__["_parsed"] = False

    define.__doc__ = f"Defines an option that is {kind}: its name, default value and help text."
    return define


DEFINE_string = _definer(str, "a string")
DEFINE_integer = _definer(int, "an integer")
DEFINE_float = _definer(float, "a number")
DEFINE_boolean = DEFINE_bool = _definer(_boolean, "true or false")
DEFINE_list = _definer(lambda text: [part.strip() for part in text.split(",")] if text else [], "a list of strings")


def DEFINE_enum(name, default, enum_values, help, flag_values=FLAGS, **kwargs):
    """Defines an option that is one of `enum_values`."""

    def parse(text):
        if text not in enum_values:
            raise ValueError(f"should be one of <{'|'.join(enum_values)}>")
        return text

    _definer(parse, "")(name, default, help, flag_values)


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    """Accepted; an option not given keeps its default value."""
