"""Each reader against files that were changed: `tests/fuzz.py`, whose long run is `make fuzz`."""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

from regrad.core.errors import DataLossError
from tests import fuzz, fuzz_readers

COUNT = 120


def _run(*args):
    return subprocess.run([sys.executable, *args], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What all readers did, tried in a process without JAX, which may be forked."""
    path = tmp_path_factory.mktemp("fuzz") / "found.json"
    program = str(pathlib.Path(fuzz.__file__))
    made = _run(program, "--quick", "--count", str(COUNT), "--json", str(path))
    assert path.exists(), made.stdout + made.stderr
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", fuzz_readers.READERS)
def test_changed_files_are_read_or_refused_clearly(name, found):
    assert not found["problems"][name]
    assert sum(found["rows"][name].values()) >= COUNT // 4 and found["rows"][name]["refused"]


def _reader(read, **more):
    return fuzz_readers.Reader("made", [{"data": b"abc" * 20}], read, **more)


def _sleep(folder):
    time.sleep(60)


def _fill(folder):
    bytearray(4 << 30)


def _crash(folder):
    os.abort()


def _unnamed(folder):
    raise DataLossError("the bytes are others")


def _bare(folder):
    raise KeyError(folder)


FAULTS = {"_sleep": "hang", "_fill": "memory", "_crash": "crash", "_unnamed": "unclear", "_bare": "unclear"}
PROGRAM = """
import json
from tests import fuzz, test_fuzz
fuzz.LIMIT = 0.2
for name in test_fuzz.FAULTS:
    rows, problems = fuzz.fuzz(test_fuzz._reader(getattr(test_fuzz, name)), 0, 2, None)
    print(json.dumps([name, rows, [outcome for outcome, _ in problems]]))
"""


def test_what_a_reader_must_not_do_is_found():
    for line in _run("-c", PROGRAM).stdout.splitlines():
        name, rows, problems = json.loads(line)
        assert rows == {FAULTS[name]: 2} and set(problems) == {FAULTS[name]}
    assert name == "_bare"


def test_mutations_are_the_same_each_time():
    reader = _reader(None)
    assert len({fuzz._mutated(reader, random.Random(f"made 0 {n}"))["data"] for n in range(50)}) > 40
    assert fuzz._mutated(reader, random.Random("made 0 7")) == fuzz._mutated(reader, random.Random("made 0 7"))
