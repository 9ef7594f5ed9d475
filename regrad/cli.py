"""The command line: `regrad run script.py`, also as `python -m regrad run script.py`."""

import argparse
import os
import runpy
import sys


def run_module(path, arguments=()):
    """Runs a script in which `import tensorflow` means Regrad; returns its global names.

    Args:
      path: the script's file.
      arguments: what the script sees as `sys.argv[1:]`.
    """
    from regrad import compat

    path = os.fspath(path)
    was_installed = compat.installed()
    compat.install()
    argv, sys.argv = sys.argv, [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        return runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv = argv
        sys.path.pop(0)
        if not was_installed:
            compat.uninstall()


def _parser():
    parser = argparse.ArgumentParser(prog="regrad", description="Graphs whose every gradient is yours to rewrite.")
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="run a script; its `import tensorflow` gives Regrad")
    run.add_argument("script", help="the Python file")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments for the script")
    return parser


def main(argv=None):
    """Runs the command line; returns the exit code."""
    options = _parser().parse_args(argv)
    if not os.path.exists(options.script):
        print(f"regrad run: no such file: {options.script}", file=sys.stderr)
        return 2
    run_module(options.script, options.arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
