"""TensorFlow 1's public names and argument names, as real TensorFlow has them: `python tests/surface/surface.py`, with
TensorFlow 2.x and its version-1 names, writes `tensorflow.txt`, one line per name.
"""
import inspect
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE / "tensorflow.txt"
SPACES = """nn nn.rnn_cell math linalg train layers losses image strings metrics summary initializers random sparse sets signal
    bitwise debugging dtypes io io.gfile nest spectral manip quantization errors logging app flags gfile test graph_util compat
    python_io queue version saved_model saved_model.builder saved_model.constants saved_model.loader saved_model.main_op
    saved_model.signature_constants saved_model.signature_def_utils saved_model.tag_constants saved_model.utils""".split()


def arguments(value):
    """Returns the names of a callable's arguments, "*" and "**" before those that take the rest; None if it has none."""
    try:
        found = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return None
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    return [stars.get(p.kind, "") + p.name for p in found]


def module(tf, space):
    """Returns `tf` or a module below it."""
    for part in filter(None, space.split(".")):
        tf = getattr(tf, part)
    return tf


def lines(tf):
    for space in ["", *SPACES]:
        place = module(tf, space)
        for name in sorted(n for n in dir(place) if not n.startswith("_")):
            value = getattr(place, name)
            full = ".".join(filter(None, [space, name]))
            if inspect.ismodule(value):
                yield f"{full} module"
            elif callable(value):
                found = arguments(value)
                yield f"{full}({', '.join(found)})" if found is not None else f"{full}(?)"
            else:
                yield f"{full} value"


def recorded():
    """Returns {name: list of arguments, or None for what takes none that are known}."""
    found = {}
    for line in FILE.read_text().splitlines():
        name, mark, rest = line.partition("(")
        name = name.split()[0]
        inside = rest.removesuffix(")")
        found[name] = None if not mark or inside == "?" else [a for a in inside.split(", ") if a]
    return found


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent.parent))
    from tests.recorded import tensorflow_1

    FILE.write_text("".join(line + "\n" for line in lines(tensorflow_1())))
