"""`tf.app.flags`: options of a program, defined where they are used and read from the command line.

    tf.app.flags.DEFINE_float("rate", 0.1, "learning rate")
    tf.app.flags.FLAGS.rate        # 0.1, or what --rate= says
"""

import enum
import sys


class Error(ValueError):
    """What is wrong with options."""


class DuplicateFlagError(Error):
    """A name was defined twice."""


class IllegalFlagValueError(Error):
    """A value of the wrong kind, or one that a check refuses."""


class UnrecognizedFlagError(Error):
    """There is no option of that name."""


class ValidationError(Error):
    """A validator's own complaint."""


class UnparsedFlagAccessError(Error):
    """Kept for programs that name it: options are read from sys.argv when first asked for."""


class _Flag:
    """One option: `name`, `default`, `help`, `value`, `present` (how often it was given)."""

    def __init__(self, name, default, help, parse, multi=False):
        self.name, self.default, self.help, self.parse, self.multi = name, default, help, parse, multi
        self.value, self.present = default, 0

    def read(self, text):
        """Takes a value from the command line."""
        found = self.parse(text)
        if self.multi:
            found = [*(self.value if self.present else []), *(found if isinstance(found, list) else [found])]
        self.value = found
        self.present += 1


class FlagValues:
    """All options as attributes. They are read from sys.argv when first asked for; setting one overrides it."""

    def __init__(self):
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_checks"] = []  # (names, function of {name: value} or of one value, message)

    def __call__(self, argv, known_only=False):
        """Reads `argv` (with the program's name first); returns what is left of it.

        Raises:
          IllegalFlagValueError: (a ValueError) a value of the wrong kind or refused, or none where one is needed.
        """
        self.__dict__["_parsed"] = True
        rest, words = list(argv[:1]), list(argv[1:])
        while words:
            word = words.pop(0)
            if word == "--":
                rest += words
                break
            name, equals, text = word.lstrip("-").partition("=")
            flag = self._flags.get(name)
            if not word.startswith("-") or flag is None:
                off = self._flags.get(name[2:]) if word.startswith("--no") and not equals else None
                if off is not None and off.parse is _boolean:
                    off.read("false")
                else:
                    rest.append(word)
                continue
            if not equals and flag.parse is _boolean:
                text = "true"
            elif not equals:
                if not words:
                    raise IllegalFlagValueError(f"flag --{name} needs a value")
                text = words.pop(0)
            try:
                flag.read(text)
            except ValueError as error:
                raise IllegalFlagValueError(f"flag --{name}={text}: {error}") from None
        self._check(self._checks)
        return rest

    def _check(self, checks):
        for names, checker, message in checks:
            values = {n: self._flags[n].value for n in names}
            try:
                good = checker(values if len(names) != 1 or getattr(checker, "_of_many", False) else values[names[0]])
            except ValidationError as error:
                good, message = False, str(error)
            if not good:
                shown = ", ".join(f"--{n}={v}" for n, v in values.items())
                raise IllegalFlagValueError(f"flag {shown}: {message}")

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
        self._check([c for c in self._checks if name in c[0]])

    def __getitem__(self, name):
        return self._flags[name]

    def __contains__(self, name):
        return name in self._flags

    def __iter__(self):
        return iter(self._flags)

    def __len__(self):
        return len(self._flags)

    def __delattr__(self, name):
        del self._flags[name]

    def is_parsed(self):
        """Returns whether a command line was read."""
        return self._parsed

    def mark_as_parsed(self):
        """Keeps sys.argv from being read: options have their defaults."""
        self.__dict__["_parsed"] = True

    def unparse_flags(self):
        """Makes the command line be read again."""
        self.__dict__["_parsed"] = False

    def flag_values_dict(self):
        """Returns {name: value}."""
        return {name: getattr(self, name) for name in self._flags}


FLAGS = FlagValues()


# -- kinds ----------------------------------------------------------------------------------------------
def _boolean(text):
    if text.lower() not in ("true", "t", "1", "false", "f", "0"):
        raise ValueError("neither true nor false")
    return text.lower() in ("true", "t", "1")


def _within(parse, low, high):
    def checked(text):
        value = parse(text)
        if low is not None and value < low or high is not None and value > high:
            raise ValueError(f"must be between {low} and {high}")
        return value

    return checked


def _one_of(values, case_sensitive=True):
    def parse(text):
        for value in values:
            if text == value or not case_sensitive and text.lower() == value.lower():
                return value
        raise ValueError(f"should be one of <{'|'.join(values)}>")

    return parse


def _member_of(enum_class):
    def parse(text):
        found = {m.name.lower(): m for m in enum_class}.get(text.lower())
        if found is None:
            raise ValueError(f"should be one of <{'|'.join(m.name for m in enum_class)}>")
        return found

    return parse


def _listed(text):
    return [part.strip() for part in text.split(",")] if text else []


def _define(name, default, help, parse, flag_values, multi=False, required=False):
    if name in flag_values:
        raise DuplicateFlagError(f"The flag {name!r} is defined twice.")
    flag_values._flags[name] = _Flag(name, default, help, parse, multi)
    flag_values.__dict__["_parsed"] = False
    if required:
        mark_flag_as_required(name, flag_values)


def _definer(parse, kind):
    def define(name, default, help, flag_values=FLAGS, required=False, **kwargs):
        _define(name, default, help, parse, flag_values, required=required)

    define.__doc__ = f"Defines an option that is {kind}: its name, default value and help text."
    return define


DEFINE_string = _definer(str, "a string")
DEFINE_boolean = DEFINE_bool = _definer(_boolean, "true or false")
DEFINE_list = _definer(_listed, "a list of strings")
DEFINE_spaceseplist = _definer(str.split, "a list of strings separated by spaces")


def DEFINE_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that is an integer, perhaps within bounds."""
    _define(name, default, help, _within(int, lower_bound, upper_bound), flag_values, required=required)


def DEFINE_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that is a number, perhaps within bounds."""
    _define(name, default, help, _within(float, lower_bound, upper_bound), flag_values, required=required)


def DEFINE_enum(name, default, enum_values, help, flag_values=FLAGS, module_name=None, required=False, **kwargs):
    """Defines an option that is one of `enum_values`."""
    _define(name, default, help, _one_of(enum_values, kwargs.get("case_sensitive", True)), flag_values, required=required)


def DEFINE_enum_class(name, default, enum_class, help, flag_values=FLAGS, module_name=None, case_sensitive=False,
                      required=False, **kwargs):
    """Defines an option that is a member of an Enum, by its name."""
    default = _member_of(enum_class)(default) if isinstance(default, str) else default
    if default is not None and not isinstance(default, enum.Enum):
        raise TypeError(f"The default of {name!r} must be a member of {enum_class.__name__}, got {default!r}.")
    _define(name, default, help, _member_of(enum_class), flag_values, required=required)


def _several(default):
    if default is None:
        return None
    return list(default) if isinstance(default, (list, tuple)) else [default]


def DEFINE_multi_string(name, default, help, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that may be given several times: a list of strings."""
    _define(name, _several(default), help, str, flag_values, True, required)


def DEFINE_multi_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that may be given several times: a list of integers."""
    _define(name, _several(default), help, _within(int, lower_bound, upper_bound), flag_values, True, required)


def DEFINE_multi_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that may be given several times: a list of numbers."""
    _define(name, _several(default), help, _within(float, lower_bound, upper_bound), flag_values, True, required)


def DEFINE_multi_enum(name, default, enum_values, help, flag_values=FLAGS, case_sensitive=True, required=False, **kwargs):
    """Defines an option that may be given several times: a list of some of `enum_values`."""
    _define(name, _several(default), help, _one_of(enum_values, case_sensitive), flag_values, True, required)


def DEFINE_multi_enum_class(name, default, enum_class, help, flag_values=FLAGS, module_name=None, case_sensitive=False,
                            required=False, **kwargs):
    """Defines an option that may be given several times: a list of members of an Enum."""
    default = [_member_of(enum_class)(d) if isinstance(d, str) else d for d in _several(default) or ()] or None
    _define(name, default, help, _member_of(enum_class), flag_values, True, required)


def DEFINE_alias(name, original_name, flag_values=FLAGS, module_name=None):
    """Defines another name of an option."""
    if original_name not in flag_values:
        raise UnrecognizedFlagError(f"no flag {original_name!r} is defined")
    if name in flag_values:
        raise DuplicateFlagError(f"The flag {name!r} is defined twice.")
    flag_values._flags[name] = flag_values._flags[original_name]


# -- checks ---------------------------------------------------------------------------------------------
def register_validator(flag_name, checker, message="Flag validation failed", flag_values=FLAGS):
    """Adds a check: `checker(value)` is false, or raises ValidationError, for what is refused, with `message`."""
    register_multi_flags_validator([flag_name], checker, message, flag_values)


def register_multi_flags_validator(flag_names, multi_flags_checker, message="Flags validation failed", flag_values=FLAGS):
    """Adds a check of several options: `multi_flags_checker({name: value})`."""
    for name in flag_names:
        if name not in flag_values:
            raise UnrecognizedFlagError(f"no flag {name!r} is defined")
    flag_values._checks.append((list(flag_names), multi_flags_checker, message))


def validator(flag_name, message="Flag validation failed", flag_values=FLAGS):
    """Decorator that registers a function as the check of an option."""
    def decorate(function):
        register_validator(flag_name, function, message, flag_values)
        return function

    return decorate


def multi_flags_validator(flag_names, message="Flag validation failed", flag_values=FLAGS):
    """Decorator that registers a function of {name: value} as the check of several options."""
    def decorate(function):
        function._of_many = True
        register_multi_flags_validator(flag_names, function, message, flag_values)
        return function

    return decorate


def mark_flag_as_required(flag_name, flag_values=FLAGS):
    """Makes reading the command line fail where the option has no value (is None)."""
    register_validator(flag_name, lambda value: value is not None, f"Flag --{flag_name} must have a value other than None.",
                       flag_values)


def mark_flags_as_required(flag_names, flag_values=FLAGS):
    """Makes reading the command line fail where one of the options has no value."""
    for name in flag_names:
        mark_flag_as_required(name, flag_values)


def mark_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    """Makes reading the command line fail where more than one of the options has a value (or none, if `required`)."""
    def check(values):
        given = sum(v is not None for v in values.values())
        return given == 1 or not given and not required

    check._of_many = True
    register_multi_flags_validator(flag_names, check, f"{'Exactly' if required else 'At most'} one of "
                                   f"({', '.join(flag_names)}) must have a value other than None.", flag_values)


def mark_bool_flags_as_mutual_exclusive(flag_names, required=False, flag_values=FLAGS):
    """Makes reading the command line fail where more than one of the options is true (or none, if `required`)."""
    def check(values):
        given = sum(bool(v) for v in values.values())
        return given == 1 or not given and not required

    check._of_many = True
    register_multi_flags_validator(flag_names, check, f"{'Exactly' if required else 'At most'} one of "
                                   f"({', '.join(flag_names)}) must be True.", flag_values)


def set_default(flag_holder, value):
    """Sets the default of an option, by its name or as FLAGS[name]; its value too, if it was not given."""
    flag = FLAGS[flag_holder] if isinstance(flag_holder, str) else flag_holder
    flag.default = value
    if not flag.present:
        flag.value = value
