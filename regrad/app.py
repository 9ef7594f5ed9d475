"""`tf.app`: running a program's `main` with its options read."""

import sys

from regrad import flags

__all__ = ["flags", "run"]


def run(main=None, argv=None):
    """Reads the options and exits with what `main(argv)` returns, argv being what is left of the command line.

    Options that are defined nowhere are left to `main`, as TensorFlow leaves them; a warning names them. `--help` prints all
    options, and nothing runs.

    Args:
      main: function of a list of words; `main` of the calling program by default.
      argv: the command line; sys.argv by default.
    """
    main = main or sys.modules["__main__"].main
    sys.exit(main(flags.read_known(sys.argv if argv is None else argv)))
