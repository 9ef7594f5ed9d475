"""`tf.app.flags`: options of a program, defined where they are used and read from the command line.

    tf.app.flags.DEFINE_float("rate", 0.1, "learning rate")
    tf.app.flags.FLAGS.rate        # 0.1, or what --rate= says
"""

import enum
import os
import sys
import textwrap
import warnings

from regrad.core import source
from regrad.core.arguments import unexpected
from regrad.core.errors import RegradWarning, nearest
from regrad.core.shown import Shown


class Error(ValueError):
    """What is wrong with options."""


class DuplicateFlagError(Error):
    """A name was defined twice."""


class IllegalFlagValueError(Error):
    """A value of the wrong kind, or one that a check refuses."""


class UnrecognizedFlagError(Error):
    """There is no option of that name.

    Attributes:
      flagname, flagvalue: what was given.
    """

    def __init__(self, flagname, flagvalue="", suggestions=()):
        self.flagname, self.flagvalue = flagname, flagvalue
        hint = f". Did you mean: {', '.join(suggestions)} ?" if suggestions else ""
        super().__init__(f"Unknown command line flag {flagname!r}{hint}")


class ValidationError(Error):
    """A validator's own complaint."""


class UnparsedFlagAccessError(Error):
    """Kept for programs that name it: options are read from sys.argv when first asked for."""


class _Flag:
    """One option: `name`, `default`, `help`, `value`, `present` (how often it was given), `module` that defined it."""

    def __init__(self, name, default, help, parse, multi=False, short_name=None):
        self.name, self.default, self.help, self.parse, self.multi = name, default, help, parse, multi
        self.value, self.present, self.short_name, self.module = default, 0, short_name, _module_outside()

    def described(self):
        """Returns the lines that `--help` prints."""
        no, values = "[no]" if self.parse is _boolean else "", getattr(self.parse, "values", None)
        named = f"-{self.short_name}," if self.short_name else ""
        text = f"{named}--{no}{self.name}: {'<' + '|'.join(values) + '>: ' if values else ''}{self.help or ''}"
        lines = textwrap.wrap(text, 78, initial_indent="  ", subsequent_indent="    ")
        if self.multi:
            lines[-1] += ";"
            lines.append("    repeat this option to specify a list of values")
        if self.default is not None:
            lines.append(f"    (default: {self._default()})")
        kind = getattr(self.parse, "kind", None)
        return [*lines, f"    ({kind})"] if kind else lines

    def _default(self):
        if isinstance(self.default, (list, tuple)):
            return repr(",".join(str(getattr(one, "name", one)) for one in self.default))
        if isinstance(self.default, bool):
            return repr(str(self.default).lower())
        return repr(str(getattr(self.default, "name", self.default)))

    def read(self, text):
        """Takes a value from the command line."""
        found = self.parse(text)
        if self.multi:
            found = [*(self.value if self.present else []), *(found if isinstance(found, list) else [found])]
        self.value = found
        self.present += 1


class FlagValues(Shown):
    """All options as attributes. They are read from sys.argv when first asked for; setting one overrides it."""

    def __init__(self):
        self.__dict__["_flags"] = {}
        self.__dict__["_parsed"] = False
        self.__dict__["_checks"] = []  # (names, function of {name: value} or of one value, message)
        self.__dict__["_last"] = None  # the arguments with which it was called last

    def __call__(self, argv, known_only=False):
        """Reads `argv` (with the program's name first); returns what is left of it.

        `--flagfile=path` stands for the lines of a file, `--undefok=name,name` names options that may be unknown; `--help`
        prints all options and ends the program.

        Args:
          known_only: leave options that there are not in what is returned.

        Raises:
          UnrecognizedFlagError: (a ValueError) there is no such option.
          IllegalFlagValueError: (a ValueError) a value of the wrong kind or refused, or none where one is needed.
        """
        self.__dict__.update(_parsed=True, _last=(list(argv), known_only))
        rest, words, unknown, undefok = list(argv[:1]), list(argv[1:]), [], set()
        while words:
            word = words.pop(0)
            if word == "--":
                rest += [word, *words] if known_only else words
                break
            name, equals, text = word.lstrip("-").partition("=")
            flag = self._flags.get(name)
            if not word.startswith("-") or word == "-":
                rest.append(word)
                continue
            if flag is None:
                off = self._flags.get(name[2:]) if word.startswith("--no") and not equals else None
                if off is not None and off.parse is _boolean:
                    off.read("false")
                elif name in ("help", "helpshort", "helpfull"):
                    print(self.main_module_help())
                    raise SystemExit(1)
                elif name in ("flagfile", "undefok"):
                    text = text if equals or not words else words.pop(0)
                    if name == "flagfile":
                        words = [*_lines(text), *words]
                    else:
                        undefok.update(part.strip() for part in text.split(","))
                elif known_only:
                    rest.append(word)
                else:
                    unknown.append((name, text))
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
        rest = [word for word in rest if not (word.startswith("--") and word.lstrip("-").partition("=")[0] in undefok)]
        for name, text in unknown:
            if name not in undefok and name.removeprefix("no") not in undefok:
                raise UnrecognizedFlagError(name, text, self._like(name))
        self._check(self._checks)
        return rest

    def _like(self, name):
        """Returns the names of options that are most like a name."""
        import difflib

        return difflib.get_close_matches(name, self._flags, n=3, cutoff=0.6)

    def main_module_help(self):
        """Returns what `--help` prints: the program's docstring and all options, those of the main module first."""
        main = sys.modules.get("__main__")
        told = (getattr(main, "__doc__", None) or "\nUSAGE: %s [flags]\n").replace("%s", sys.argv[0])
        modules: dict[str, dict] = {"__main__": {}}
        for flag in sorted(self._flags.values(), key=lambda f: (f.module != "__main__", f.module, f.name)):
            modules.setdefault(flag.module, {})[flag] = None
        lines = [told, "flags:"]
        for module, flags in modules.items():
            if flags:
                lines += ["", f"{sys.argv[0] if module == '__main__' else module}:", *(s for f in flags for s in f.described())]
        return "\n".join(lines)

    get_help = main_module_help

    def _read(self):
        """Reads the command line again as it was read last; at first sys.argv, if that is this program's."""
        self(*(self._last or (sys.argv if _is_own(sys.argv) else sys.argv[:1], False)))

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
            self._read()
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


def read_known(argv):
    """Returns what is left of `argv` for `main`, as TensorFlow's `tf.app.run` leaves it: unknown options, of which it warns."""
    rest = FLAGS(argv, known_only=True)
    if len(FLAGS):
        end = rest.index("--") if "--" in rest else len(rest)
        for word in rest[1:end]:
            name = word.lstrip("-").partition("=")[0]
            if word.startswith("-") and word != "-":
                warnings.warn(f"There is no flag {name!r}{nearest(name, FLAGS) or '.'} {word} is left to main(argv), and sets "
                              "nothing; --help lists the flags.", RegradWarning, stacklevel=source.level())
    return rest


def _module_outside():
    """Returns the name of the module that defines an option."""
    frame = sys._getframe(1)
    while frame.f_globals.get("__name__") == __name__ and frame.f_back is not None:
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def _lines(path):
    """Returns the words of a file of options: a line each, without empty ones and comments."""
    with open(path, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    return [line for line in lines if line and not line.startswith(("#", "//"))]


def _is_own(argv):
    """Returns whether a command line is the program's, and not that of a notebook's kernel or of pytest, which run it."""
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    path = argv[0].removesuffix("__main__.py").rstrip(os.sep) if argv else ""
    runner = main.name.partition(".")[0] if main is not None else os.path.basename(path).partition(".")[0]
    return runner not in ("ipykernel_launcher", "colab_kernel_launcher", "ipython", "pytest")


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

    checked.kind = "an integer" if parse is int else "a number"
    return checked


def _one_of(values, case_sensitive=True):
    def parse(text):
        for value in values:
            if text == value or not case_sensitive and text.lower() == value.lower():
                return value
        raise ValueError(f"should be one of <{'|'.join(values)}>")

    parse.values = list(values)
    return parse


def _member_of(enum_class):
    def parse(text):
        found = {m.name.lower(): m for m in enum_class}.get(text.lower())
        if found is None:
            raise ValueError(f"should be one of <{'|'.join(m.name for m in enum_class)}>")
        return found

    parse.values = [m.name for m in enum_class]
    return parse


def _separated(by, kind):
    def parse(text):
        return [part.strip() for part in text.split(by)] if text else []

    parse.kind = kind
    return parse


_ACCEPTED = ("allow_override", "allow_overwrite", "allow_hide_cpp", "allow_using_method_names", "serialize")


def _define(name, default, help, parse, flag_values, multi=False, required=False, short_name=None, **accepted):
    unknown = [key for key in accepted if key not in _ACCEPTED]
    if unknown:
        raise unexpected(_define, unknown, ["flag_values", "required", "short_name", *_ACCEPTED])
    flag = _Flag(name, default, help, parse, multi, short_name)
    for one in (name, short_name) if short_name else (name,):
        if one in flag_values:
            raise DuplicateFlagError(f"The flag {one!r} is defined twice.")
        flag_values._flags[one] = flag
    flag_values.__dict__["_parsed"] = False
    if required:
        mark_flag_as_required(name, flag_values)


def _definer(name, parse, kind):
    def define(name, default, help, flag_values=FLAGS, required=False, **kwargs):
        _define(name, default, help, parse, flag_values, required=required, **kwargs)

    define.__name__ = define.__qualname__ = name
    define.__doc__ = f"Defines an option that is {kind}: its name, default value and help text."
    return define


DEFINE_string = _definer("DEFINE_string", str, "a string")
DEFINE_boolean = DEFINE_bool = _definer("DEFINE_boolean", _boolean, "true or false")
DEFINE_list = _definer("DEFINE_list", _separated(",", "a comma separated list"), "a list of strings")
DEFINE_spaceseplist = _definer("DEFINE_spaceseplist", _separated(None, "a whitespace separated list"),
                               "a list of strings separated by spaces")


def DEFINE_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that is an integer, perhaps within bounds."""
    _define(name, default, help, _within(int, lower_bound, upper_bound), flag_values, required=required, **kwargs)


def DEFINE_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that is a number, perhaps within bounds."""
    _define(name, default, help, _within(float, lower_bound, upper_bound), flag_values, required=required, **kwargs)


def DEFINE_enum(name, default, enum_values, help, flag_values=FLAGS, module_name=None, required=False, **kwargs):
    """Defines an option that is one of `enum_values`."""
    _define(name, default, help, _one_of(enum_values, kwargs.pop("case_sensitive", True)), flag_values, required=required,
            **kwargs)


def DEFINE_enum_class(name, default, enum_class, help, flag_values=FLAGS, module_name=None, case_sensitive=False,
                      required=False, **kwargs):
    """Defines an option that is a member of an Enum, by its name."""
    default = _member_of(enum_class)(default) if isinstance(default, str) else default
    if default is not None and not isinstance(default, enum.Enum):
        raise TypeError(f"The default of {name!r} must be a member of {enum_class.__name__}, got {default!r}.")
    _define(name, default, help, _member_of(enum_class), flag_values, required=required, **kwargs)


def _several(default):
    if default is None:
        return None
    return list(default) if isinstance(default, (list, tuple)) else [default]


def DEFINE_multi_string(name, default, help, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that may be given several times: a list of strings."""
    _define(name, _several(default), help, str, flag_values, True, required, **kwargs)


def DEFINE_multi_integer(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that may be given several times: a list of integers."""
    _define(name, _several(default), help, _within(int, lower_bound, upper_bound), flag_values, True, required,
            **kwargs)


def DEFINE_multi_float(name, default, help, lower_bound=None, upper_bound=None, flag_values=FLAGS, required=False, **kwargs):
    """Defines an option that may be given several times: a list of numbers."""
    _define(name, _several(default), help, _within(float, lower_bound, upper_bound), flag_values, True, required,
            **kwargs)


def DEFINE_multi_enum(name, default, enum_values, help, flag_values=FLAGS, case_sensitive=True, required=False, **kwargs):
    """Defines an option that may be given several times: a list of some of `enum_values`."""
    _define(name, _several(default), help, _one_of(enum_values, case_sensitive), flag_values, True, required, **kwargs)


def DEFINE_multi_enum_class(name, default, enum_class, help, flag_values=FLAGS, module_name=None, case_sensitive=False,
                            required=False, **kwargs):
    """Defines an option that may be given several times: a list of members of an Enum."""
    default = [_member_of(enum_class)(d) if isinstance(d, str) else d for d in _several(default) or ()] or None
    _define(name, default, help, _member_of(enum_class), flag_values, True, required, **kwargs)


def DEFINE_alias(name, original_name, flag_values=FLAGS, module_name=None):
    """Defines another name of an option."""
    if original_name not in flag_values:
        raise UnrecognizedFlagError(original_name, suggestions=flag_values._like(original_name))
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
            raise UnrecognizedFlagError(name, suggestions=flag_values._like(name))
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
