"""The command line: `regrad run`, `explain` and `doctor` with a script, and `regrad info`; also `python -m regrad`."""

import argparse
import contextlib
import os
import runpy
import sys
import threading

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def run_module(path, arguments=(), is_module=False):
    """Runs a script in which `import tensorflow` means Regrad; returns its global names.

    Args:
      path: the script's file.
      arguments: what the script sees as `sys.argv[1:]`.
      is_module: `path` is the name of a module, which is looked for as `python -m` does.
    """
    from regrad import compat

    path = os.fspath(path)
    was_installed = compat.installed()
    compat.install()
    argv, sys.argv = sys.argv, [path, *arguments]
    sys.path.insert(0, os.getcwd() if is_module else os.path.dirname(os.path.abspath(path)))
    try:
        if is_module:
            return runpy.run_module(path, run_name="__main__", alter_sys=True)
        return runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = argv
        sys.path.pop(0)
        if not was_installed:
            compat.uninstall()


def _parser():
    from regrad import __version__

    parser = argparse.ArgumentParser(prog="regrad", description="Graphs whose every gradient is yours to rewrite.")
    parser.add_argument("--version", action="version", version=f"regrad {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a script; its `import tensorflow` gives Regrad")
    explain = commands.add_parser("explain", help="run a script until it trains, then tell which rule differentiates each "
                                  "operation", usage="%(prog)s [options] script [options] [-- arguments of the script]")
    explain.add_argument("--ys", required=True, help="what to differentiate: names of the script or of tensors, with commas")
    explain.add_argument("--xs", help="with respect to what; by default the trainable variables, else the placeholders")
    explain.add_argument("--to-end", action="store_true", help="run all of the script, its training too")
    explain.add_argument("--html", metavar="FILE", help="write a page with both graphs drawn")
    explain.add_argument("--json", metavar="FILE", help="write the explanation as JSON")
    explain.add_argument("--dot", metavar="FILE", help="write the graphs for Graphviz")
    doctor = commands.add_parser("doctor", help="run a script, then tell which of its gradient overrides did nothing")
    commands.add_parser("info", help="print versions, devices, kernels, cache, and what is wrong with the installation")
    for command in (run, explain, doctor):
        command.add_argument("-m", dest="is_module", action="store_true", help="the script is a module's name, as in python -m")
        command.add_argument("script", help="the Python file")
        if command is not explain:
            command.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments for the script").required = False
    return parser


def _doctor(options):
    """Runs a script and prints what its overrides caught; returns 1 when one did nothing."""
    from regrad.core import gradient_registry, graph
    from regrad.inspect import overrides_in_use

    known = set(gradient_registry.names())
    graph.kept = [graph.get_default_graph()]
    try:
        run_module(options.script, options.arguments, options.is_module)
    except SystemExit as end:  # tf.app.run ends so
        if end.code:
            raise
    finally:
        found = overrides_in_use(graph.kept)
        graph.kept = None
        found.rows = [r for r in found.rows if r.kind != "registered" or r.what not in known]
        _show(found)
    return 0 if found else 1


def _explain(options):
    """Prints what `gradients` would do in the graph that a script leaves behind or trains; returns the exit code."""
    import regrad as tf
    from regrad.core import graph
    from regrad.core.errors import OpError
    from regrad.core.files import in_place_of

    graph.kept = graphs = [graph.get_default_graph()]
    try:
        with contextlib.nullcontext() if options.to_end else _stopped_by_training():
            names = run_module(options.script, options.arguments, options.is_module)
    except _Training as stop:
        names = stop.names
        print(f"regrad explain: stopped before the first run that trains, at {stop.place}; --to-end runs all", file=sys.stderr)
    except SystemExit as end:  # tf.app.run ends so
        if end.code:
            raise
        names = {}
    finally:
        graph.kept = None

    try:
        ys = _named(options.ys, names, graphs)
        told = tf.explain_gradients(ys, _named(options.xs, names, graphs) if options.xs else _inputs(
            tf.convert_to_tensor(ys[0]).graph))
        for path, text in ((options.html, told.html), (options.json, told.to_json), (options.dot, told.to_dot)):
            if path:
                with in_place_of(path) as file:
                    file.write(text().encode())
    except (LookupError, TypeError, ValueError, OpError) as error:
        print(f"regrad explain: {error.args[0]}", file=sys.stderr)
        return 2
    _show(told)
    return 0


class _Training(BaseException):
    """A script is about to train; `names` are those that it can see there, and `place` is the line."""

    def __init__(self, names, place):
        super().__init__(place)
        self.names, self.place = names, place


@contextlib.contextmanager
def _stopped_by_training():
    """Raises _Training in place of the first run that writes variables by gradients."""
    from regrad.core import source
    from regrad.runtime import session

    def check(plan):
        if threading.current_thread() is not threading.main_thread():
            return
        if plan.commits and any(node.op.forward_op is not None for node in plan.nodes):
            raise _Training(_names_in_sight(), source.here())

    session.planned = check
    try:
        yield
    finally:
        session.planned = None


def _names_in_sight():
    """Returns {name: value} of the running script and the functions that it has called; what is outermost has the last word."""
    frame, names = sys._getframe(1), {}
    while frame is not None and frame.f_code is not run_module.__code__:
        if not frame.f_code.co_filename.startswith((_PACKAGE, "<frozen")):
            names.update(frame.f_locals)
        frame = frame.f_back
    return names


def _inputs(graph):
    """Returns the trainable variables of a graph, or else its placeholders of floating point numbers."""
    variables = graph.get_collection("trainable_variables")
    return variables or [op.outputs[0] for op in graph.get_operations()
                         if op.type == "Placeholder" and op.outputs[0].dtype.is_floating]


def _show(report):
    """Prints a report; who reads it, such as `head`, may stop before its end."""
    try:
        report.show()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python's last flush finds a reader


def _named(text, names, graphs):
    """Returns what a list of names stands for: values of the script, or else tensors of the latest graph that has them.

    Raises KeyError for a name that is neither.
    """
    from regrad.core.errors import nearest

    found = []
    for name in text.split(","):
        owner = next((g for g in reversed(graphs) if name.partition(":")[0] in g._by_name), None)
        if name not in names and owner is None:
            there = [*names, *(op for g in graphs for op in g._by_name)]
            hint = nearest(name, there) or ("" if names else (
                f". The script ended with sys.exit, which takes its globals with it: name a tensor{_losses(graphs)}"))
            raise KeyError(f"no global of the script and no tensor is called {name!r}{hint}")
        found.append(names[name] if name in names else owner.get_tensor_by_name(name if ":" in name else f"{name}:0"))
    return found


def _losses(graphs):
    """Returns ", such as 'loss:0'" for the last real scalars of the program's graphs, or an empty string."""
    scalars = [t.name for g in reversed(graphs) for op in reversed(g._ops) for t in op.outputs
               if t.dims == () and t.dtype.is_floating and op.forward_op is None and op.inputs]
    return f", such as {' or '.join(map(repr, scalars[:3]))}" if scalars else ""


def main(argv=None):
    """Runs the command line; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    parser = _parser()
    if not argv:
        parser.print_help(sys.stderr)
        return 2
    if os.path.isfile(argv[0]):
        print(f"regrad: the command comes first: regrad run {argv[0]}", file=sys.stderr)
        return 2
    options = parser.parse_args(argv[:argv.index("--")] if argv[0] == "explain" and "--" in argv else argv)
    if options.command == "explain":
        options.arguments = argv[argv.index("--") + 1:] if "--" in argv else []
    if options.command == "info":
        from regrad.runtime.information import show_versions

        show_versions()
        return 0
    if not options.is_module and not os.path.isfile(options.script):
        what = "is a folder, not a script" if os.path.isdir(options.script) else "no such file"
        print(f"regrad {options.command}: {what}: {options.script}", file=sys.stderr)
        return 2
    try:
        return {"run": _run, "doctor": _doctor, "explain": _explain}[options.command](options)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:  # the script's own, told as `python script.py` would
        error.__traceback__ = _frames_of_script(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1


def _run(options):
    run_module(options.script, options.arguments, options.is_module)
    return 0


def _frames_of_script(error):
    """Returns the traceback from the script's first frame on; None for an error before it, such as of its syntax."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename in (__file__, "<frozen runpy>", runpy.__file__):
        frames = frames.tb_next
    return frames


if __name__ == "__main__":
    sys.exit(main())
