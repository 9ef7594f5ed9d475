"""Every reader of files against files that were changed: how many are refused, and how.

    python tests/fuzz.py [reader ...] [--count 1000] [--seconds 60] [--seed 0] [--keep folder]

A reader is given a file that it reads, with bits turned, bytes cut off, doubled, exchanged or inserted, lengths made huge, or,
of messages and JSON, with values exchanged, left out or put elsewhere, so that what is inside is wrong while the form is right.
Some are given new checksums, or packed again. It may read such a file, or refuse it by an error of `tf.errors`, or another that
`tests/fuzz_readers.py` names, which has the file's name where it has one. Anything else is counted and shown with its line:

    unclear   another class of error, or no name of the file
    hang      longer than LIMIT seconds
    memory    more than MEMORY bytes beyond what the process had
    crash     the end of the process

Each reader runs in a process of its own; one that ends is begun anew behind the mutation that ended it. A mutation is known by
reader, seed and number, and is the same wherever it is made. `tests/test_fuzz.py` runs some of each reader's, `make fuzz` more.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import resource
import select
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

LIMIT = 5.0
MEMORY = 1 << 30
OUTCOMES = ("refused", "accepted", "unclear", "hang", "memory", "crash")
INTEGERS = [0, 1, 2, 3, 5, 7, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**33, 2**40, 2**53, 2**62,
            2**63 - 1, 2**63, 2**64 - 1]


# -- changes of bytes ----------------------------------------------------------------------------------------
def _place(rng, data, size=1):
    return rng.randrange(max(1, len(data) - size + 1))


def _piece(rng, data):
    start = _place(rng, data)
    return start, start + min(len(data) - start, rng.choice([1, 2, 4, 8, 16, 64, 256, 4096]))


def turn_bits(rng, data, other):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 16])):
        out[_place(rng, out)] ^= 1 << rng.randrange(8)
    return bytes(out)


def set_bytes(rng, data, other):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        out[_place(rng, out)] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, 0x22, 0x7B, 0x5B, rng.randrange(256)])
    return bytes(out)


def cut_off(rng, data, other):
    return data[:_place(rng, data)]


def leave_out(rng, data, other):
    start, end = _piece(rng, data)
    return data[:start] + data[end:]


def double(rng, data, other):
    start, end = _piece(rng, data)
    return data[:end] + data[start:end] * rng.choice([1, 1, 2, 50]) + data[end:]


def splice(rng, data, other):
    (start, end), at = _piece(rng, other), _place(rng, data)
    return data[:at] + other[start:end] + data[at + rng.choice([0, end - start]):]


def insert(rng, data, other):
    at = _place(rng, data)
    return data[:at] + rng.randbytes(rng.choice([1, 2, 4, 100])) + data[at:]


def set_length(rng, data, other):
    form = rng.choice(["<B", "<H", ">H", "<I", ">I", "<I", "<Q", ">Q", "<Q"])
    size = struct.calcsize(form)
    at = _place(rng, data, size)
    value = rng.choice(INTEGERS) + rng.choice([0, 0, -1, len(data)])
    return data[:at] + struct.pack(form, value % (1 << 8 * size)) + data[at + size:]


def _varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def set_varint(rng, data, other):
    at = _place(rng, data)
    return data[:at] + _varint(rng.choice(INTEGERS)) + data[at + 1:]


BYTES = [turn_bits, turn_bits, set_bytes, cut_off, leave_out, double, splice, insert, set_length, set_varint]
WORDS = ["-1", "0", "1e999", "nan", str(2**63), str(10**30), '""', "null", "[]", "{}", "\\", '"', "\n", "\0", "\xff", "../x"]


def words(rng, data, other):
    """Changes of text: one of its words becomes another."""
    found = data.split(b" ")
    at = rng.randrange(len(found))
    found[at] = rng.choice(WORDS).encode("latin-1") if rng.random() < 0.7 else rng.choice(other.split(b" "))
    return b" ".join(found)


# -- changes of what is inside -------------------------------------------------------------------------------
def _fields_of(data):
    """Returns [(number, wire type, value)] of a message's bytes, None where they are none."""
    at, found = 0, []

    def varint():
        nonlocal at
        n = shift = 0
        while shift < 64:
            byte = data[at]
            at += 1
            n |= (byte & 127) << shift
            if byte < 128:
                return n
            shift += 7
        raise IndexError

    try:
        while at < len(data):
            key = varint()
            if key & 7 == 0:
                value = varint()
            else:
                size = {1: 8, 5: 4}.get(key & 7) or (varint() if key & 7 == 2 else None)
                if size is None or at + size > len(data) or not 0 < key >> 3 < 200:
                    return None
                value, at = data[at:at + size], at + size
            found.append((key >> 3, key & 7, value))
    except IndexError:
        return None
    return found


def _bytes_of(fields):
    return b"".join(_varint(n << 3 | wire) + (_varint(v) if wire == 0 else (_varint(len(v)) if wire == 2 else b"") + v)
                    for n, wire, v in fields)


def message(rng, data, other):
    """Changes of messages of Protocol Buffers: a field, somewhere in it, has another value, is missing, or is elsewhere."""
    return _changed(rng, data, _texts(other))


def _texts(data, depth=0):
    found = []
    for _, wire, value in _fields_of(data) or ():
        if wire == 2:
            inner = _fields_of(value) if depth < 8 and value else None
            found += [value] if inner is None else _texts(value, depth + 1)
    return found or [b""]


def _changed(rng, data, texts, depth=0):
    fields = _fields_of(data)
    if not fields:
        return rng.choice(texts)
    at = rng.randrange(len(fields))
    number, wire, value = fields[at]
    if wire == 2 and value and depth < 12 and rng.random() < 0.85 and _fields_of(value):
        fields[at] = number, wire, _changed(rng, value, texts, depth + 1)
        return _bytes_of(fields)
    kind = rng.randrange(8)
    if kind == 0:
        del fields[at]
    elif kind == 1:
        fields.insert(at, fields[at])
    elif kind == 2:
        fields.insert(rng.randrange(len(fields)), fields.pop(at))
    elif kind == 3:
        fields[at] = rng.choice([number + 1, number - 1, rng.randrange(1, 20)]) % 200 or 1, wire, value
    elif wire == 0:
        fields[at] = number, wire, rng.choice([*INTEGERS, value ^ 1, 2**64 - value if value else 9])
    elif wire == 2:
        fields[at] = number, wire, rng.choice([rng.choice(texts), b"", turn_bits(rng, value, b"") if value else b"x"])
    else:
        fields[at] = number, wire, rng.choice([bytes(len(value)), b"\xff" * len(value), rng.randbytes(len(value))])
    return _bytes_of(fields)


def document(rng, data, other):
    """Changes of JSON: one of its values is another, missing, or elsewhere."""
    try:
        whole = json.loads(data)
    except ValueError:
        return words(rng, data, other)
    places, values = [], []

    def visit(value):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            places.append((value, key))
            values.append(value[key])
            if isinstance(value[key], (dict, list)):
                visit(value[key])

    if not isinstance(whole, (dict, list)) or not whole:
        return b"[]"
    visit(whole)
    inside, key = rng.choice(places)
    if rng.random() < 0.25:
        del inside[key]
    else:
        inside[key] = json.loads(json.dumps(rng.choice(values))) if rng.random() < 0.4 else rng.choice(
            [None, True, -1, 0, 2**31, 10**30, 1.5, 1e300, "", "x", [], {}, [[]], {"class_name": "Dense"}, [None], "os:system"])
    return json.dumps(whole).encode()


# -- files that hold together --------------------------------------------------------------------------------
def records_again(data):
    """Gives the records of a file their checksums."""
    from regrad.core.records import masked_crc

    out, at = bytearray(data), 0
    while at + 16 <= len(out):
        (size,) = struct.unpack_from("<Q", out, at)
        out[at + 8:at + 12] = struct.pack("<I", masked_crc(bytes(out[at:at + 8])))
        if at + 16 + size > len(out):
            break
        out[at + 12 + size:at + 16 + size] = struct.pack("<I", masked_crc(bytes(out[at + 12:at + 12 + size])))
        at += 16 + size
    return bytes(out)


def table_again(data):
    """Gives the blocks of a table their checksums."""
    from regrad.core.proto import read_varint
    from regrad.core.records import masked_crc

    out = bytearray(data)
    try:
        places, at = [], len(out) - 48
        for _ in range(4):
            n, at = read_varint(out, at)
            places.append(n)
        at = places[2]
        sizes = []  # of the index's first entry: what its key shares with the one before, the rest of it, its value
        for _ in range(3):
            n, at = read_varint(out, at)
            sizes.append(n)
        offset, at = read_varint(out, at + sizes[1])
        size, at = read_varint(out, at)
        for start, end in ((offset, offset + size + 1), (places[2], places[2] + places[3] + 1)):
            if end + 4 <= len(out):
                out[end:end + 4] = struct.pack("<I", masked_crc(bytes(out[start:end])))
    except (IndexError, ValueError):
        pass
    return bytes(out)


def table_items(change):
    """Returns the change of a table's values, or keys, by `change`, in a table that holds together."""
    def changed(rng, data, other):
        from regrad.core.tables import read_table, table_bytes

        items = [(key, bytes(value)) for key, value in read_table(data)]
        at = rng.randrange(len(items))
        key, value = items[at]
        if rng.random() < 0.15:
            items[at] = rng.choice(BYTES)(rng, key or b"x", other), value
        elif rng.random() < 0.1:
            items[at] = key, rng.choice(items)[1]
        else:
            items[at] = key, change(rng, value, rng.choice(items)[1]) if value else _varint(rng.choice(INTEGERS))
        return table_bytes(sorted(items))
    return changed


def record_items(change):
    """Returns the change of one record of a file by `change`."""
    def changed(rng, data, other):
        from regrad.core.records import framed

        found, at = [], 0
        while at < len(data):
            (size,) = struct.unpack_from("<Q", data, at)
            found.append(data[at + 12:at + 12 + size])
            at += 16 + size
        n = rng.randrange(len(found))
        found[n] = change(rng, found[n] or b"x", rng.choice(found) or b"x")
        return b"".join(map(framed, found))
    return changed


def packed(unpack, pack, changes=tuple(BYTES)):
    """Returns the change of what `unpack` gives of a file, packed again."""
    return lambda rng, data, other: pack(rng.choice(changes)(rng, unpack(data), unpack(other)))


def png_again(rng, data, other):
    """Changes a chunk of a PNG, and gives it its checksum."""
    at, chunks = 8, []
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        chunks.append([data[at + 4:at + 8], data[at + 8:at + 8 + size]])
        at += 12 + size
    n = rng.randrange(len(chunks))
    kind, body = chunks[n]
    if kind == b"IDAT" and rng.random() < 0.5:
        body = zlib.compress(rng.choice(BYTES)(rng, zlib.decompress(body), data))
    else:
        body = rng.choice(BYTES)(rng, body or b"x", data)
    chunks[n] = [kind, body]
    return data[:8] + b"".join(struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in chunks)


# -- running -------------------------------------------------------------------------------------------------
class Hang(BaseException):
    """A mutation takes too long."""


def _mutated(reader, rng):
    """Returns {name: bytes} of a sample with one file changed."""
    files = dict(rng.choice(reader.samples))
    name = rng.choice([n for n in sorted(files) if files[n]])
    others = [s[name] for s in reader.samples if s.get(name)]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        change = rng.choice([*BYTES, *reader.changes_of(name) * 4])
        try:
            files[name] = change(rng, files[name], rng.choice(others))
        except (ArithmeticError, EOFError, LookupError, OSError, RuntimeError, TypeError, ValueError, struct.error, zlib.error,
                zipfile.BadZipFile):
            pass  # what was changed before is no longer what this changes
    again = reader.again.get(pathlib.Path(name).suffix)
    if again is not None and rng.random() < 0.6:
        files[name] = again(files[name])
    return files


def _write(folder, files):
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def _place_of(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/regrad/" in f.filename]
    return f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"


def _outcome(reader, folder):
    """Returns (outcome, what there is to say about it) of reading a folder."""
    from regrad.core.errors import OpError, ResourceExhaustedError

    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        reader.read(folder)
        return "accepted", ""
    except Hang as error:
        return "hang", _place_of(error)
    except MemoryError as error:
        return "memory", f"MemoryError at {_place_of(error)}"
    except Exception as error:
        said = f"{type(error).__name__} at {_place_of(error)}: {str(error)[:300]}"
        if isinstance(error, ResourceExhaustedError):
            return "memory", said
        clear = isinstance(error, (OpError, *reader.also)) and type(error).__name__ != "UnknownError"
        named = not reader.named or os.path.basename(folder) in str(error)
        return ("refused", "") if clear and named and len(str(error)) > 10 else ("unclear", said)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _work(reader, seed, first, count, folder, out, until):
    """Reads mutations `first` to `count` in this process, and writes what becomes of each."""
    def stop(number, frame):
        raise Hang

    signal.signal(signal.SIGALRM, stop)
    warnings.simplefilter("ignore")
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for n in range(first, count):
        if until is not None and time.monotonic() > until:
            break
        files = _mutated(reader, random.Random(f"{reader.name} {seed} {n}"))
        _write(folder, files)
        os.write(out, f"{n}\n".encode())
        outcome, said = _outcome(reader, folder)
        os.write(out, (json.dumps([n, outcome, said]) + "\n").encode())
    os.write(out, b"end\n")


def fuzz(reader, seed, count, seconds, keep=None):
    """Returns (Counter of outcomes, {what is to be said: [numbers of mutations]})."""
    found, problems = collections.Counter(), collections.defaultdict(list)
    first, until = 0, None if seconds is None else time.monotonic() + seconds
    with tempfile.TemporaryDirectory(prefix="fuzz") as above:
        folder = os.path.join(above, f"read{os.getpid()}")
        while first < count:
            get, put = os.pipe()
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    os.close(get)
                    for stream in (1, 2):  # what readers print
                        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
                    _work(reader, seed, first, count, folder, put, until)
                    status = 0
                except BaseException:  # a fault of this program's
                    with open(os.path.join(above, "fault"), "w") as file:
                        traceback.print_exc(file=file)
                finally:
                    os._exit(status)
            os.close(put)
            ended, at = False, first
            for line in _lines(get):
                if line is None:  # it answers no more
                    os.kill(child, signal.SIGKILL)
                elif line == "end":
                    ended = True
                elif line.startswith("["):
                    n, outcome, said = json.loads(line)
                    found[outcome] += 1
                    if said:
                        problems[outcome, said].append(n)
                        _keep(keep, reader, seed, n)
                    at = n + 1
            _, status = os.waitpid(child, 0)
            os.close(get)
            if ended:
                break
            fault = pathlib.Path(above, "fault")
            if fault.exists():
                raise RuntimeError(f"{reader.name}, mutation {at}:\n{fault.read_text()}")
            outcome = "hang" if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL else "crash"
            found[outcome] += 1
            problems[outcome, f"the process ended ({status})"].append(at)
            _keep(keep, reader, seed, at)
            first = at + 1
    return found, problems


def _lines(pipe):
    """Yields the lines that come out of a pipe, None where none comes for too long."""
    text = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], 2 * LIMIT)
        if not ready:
            yield None
            continue
        data = os.read(pipe, 1 << 16)
        if not data:
            return
        *lines, text = (text + data).split(b"\n")
        yield from (line.decode() for line in lines)


def _keep(keep, reader, seed, n):
    if keep is not None:
        _write(os.path.join(keep, f"{reader.name}-{seed}-{n}"), _mutated(reader, random.Random(f"{reader.name} {seed} {n}")))


def line(name, found):
    """Returns a line of the table: a reader, and the Counter of its outcomes."""
    return f"{name:24} {sum(found.values()):>9} " + " ".join(f"{found[outcome]:>8}" for outcome in OUTCOMES)


def main(args=None):
    from tests.fuzz_readers import READERS

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("readers", nargs="*", metavar="reader", help=", ".join(READERS))
    parser.add_argument("--count", type=int, default=1000, help="mutations of each reader")
    parser.add_argument("--quick", action="store_true", help="fewer of those that take long")
    parser.add_argument("--seconds", type=float, help="time for each reader at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", help="a folder for the files that were not refused as they should be")
    parser.add_argument("--json", help="a file for the outcomes")
    options = parser.parse_args(args)
    rows, all_problems = {}, {}
    print(f"{'reader':24} mutations " + " ".join(f"{outcome:>8}" for outcome in OUTCOMES))
    for name in options.readers or READERS:
        reader = READERS[name]()
        reader.check()
        count = options.count // reader.slow if options.quick else options.count
        rows[name], problems = fuzz(reader, options.seed, count, options.seconds, options.keep)
        all_problems[name] = [[outcome, said, numbers] for (outcome, said), numbers in problems.items()]
        print(line(name, rows[name]), flush=True)
        for (outcome, said), numbers in problems.items():
            print(f"{name}: {outcome}, {len(numbers)} times (mutation {numbers[0]}): {said}", flush=True)
    print(line("all", sum(rows.values(), collections.Counter())))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"rows": rows, "problems": all_problems}))
    return int(any(all_problems.values()))


if __name__ == "__main__":
    sys.exit(main())
