"""Runs the benchmarks side by side: Regrad, TensorFlow in graph mode, PyTorch and JAX.

    python benchmarks/setup.py            # once: an environment for each system, under .bench/
    python benchmarks/run.py              # all of it
    python benchmarks/run.py --quick --only lstm --systems regrad,jax

Every measurement is a process of its own. Repetitions go round the systems (A B C D, A B C D) so that a noisy
minute hits them all alike; the figure is the median. Prints tables and writes them as JSON to
`benchmarks/results/latest.json`.
"""

import argparse
import contextlib
import importlib
import itertools
import json
import math
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import systems
from child import MARK
from workloads import ORDER

HERE = Path(__file__).resolve().parent
SECTIONS = {  # heading -> the metrics under it
    "Whole process": ("process", "import"),
    "A warm run": ("steady",),
    "Build and first run": ("ready",),
    "Building a graph, per op or call": ("build/op", "gradients/op", "call"),
    "Peak memory": ("memory",),
}
METRICS = ("steady", "ready", "memory")
PLAIN = ("process", *METRICS)  # what the section's heading says already
TOLERANCE = 1e-3
CONTENDED = 0.15  # share of the machine taken by others above which a measurement is marked


class Failed(Exception):
    """A measurement that gave no figures; the text is what the table shows."""


def machine_use():
    """Returns (seconds the machine's cores were busy, seconds our ended children took), or None off Linux."""
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    except OSError:
        return None
    idle = fields[3] + fields[4]
    ours = os.times()
    return (sum(fields[:8]) - idle) / os.sysconf("SC_CLK_TCK"), ours.children_user + ours.children_system


def wait_for_quiet(patience):
    """Waits until others use little of the machine, at most `patience` seconds."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and (before := machine_use()):
        time.sleep(0.5)
        if (machine_use()[0] - before[0]) / 0.5 / os.cpu_count() < CONTENDED:
            return


def call_child(python, system, request, timeout, cache):
    """Runs child.py under `python`; returns its answer, with the share of the machine that others took."""
    if not Path(python).exists():
        raise Failed("absent")
    variables = dict(systems.environment(system), XDG_CACHE_HOME=str(cache))
    before, start = machine_use(), time.monotonic()
    command = [str(python), str(HERE / "child.py"), json.dumps(dict(request, system=system))]
    process = subprocess.Popen(command, cwd=HERE, env=variables, start_new_session=True, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException as error:  # also Ctrl-C: leave no process behind
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            raise Failed(f"> {timeout:.0f} s") from None
        raise
    elapsed, after = time.monotonic() - start, machine_use()
    lines = [line for line in out.splitlines() if line.startswith(MARK)]
    if process.returncode or not lines:
        raise Failed("error: " + (err.strip() or f"exit code {process.returncode}"))
    answer = json.loads(lines[-1][len(MARK):])
    if before:
        others = (after[0] - before[0]) - (after[1] - before[1])
        answer["others"] = max(0.0, others / elapsed / os.cpu_count())
    return answer


def probe(pythons):
    """Returns system -> version, or Failed with the reason why it cannot be used."""
    found = {}
    for system, python in pythons.items():
        try:
            # Also warms the disk's cache and writes byte code, which a first user pays once.
            with tempfile.TemporaryDirectory() as cache:
                found[system] = call_child(python, system, {}, 120, cache)["version"]
        except Failed as failure:
            found[system] = failure
        version = found[system]
        print(f"{system:12}{version if isinstance(version, str) else last_line(version)}", flush=True)
    return found


def last_line(failure):
    """Returns the last line of a failure's text, which in a traceback is the error."""
    return str(failure).strip().splitlines()[-1][:150]


def load_workloads(only, quick):
    """Returns [(module, {row: size})] in the order of the files' names, narrowed to `only`."""
    def named(text):
        return any(word.lower() in text.lower() for word in only)

    chosen = []
    for name in ORDER:
        module = importlib.import_module(f"workloads.{name}")
        rows = getattr(module, "QUICK", module.ROWS) if quick else module.ROWS
        if only and not named(name):
            rows = {row: size for row, size in rows.items() if named(row)}
        if rows:
            chosen.append((module, rows))
    return chosen


def stem(module):
    """Returns the workload's name, that of its file."""
    return module.__name__.split(".")[-1]


def takes_part(module, system):
    """Says whether a workload has a program for `system`."""
    return hasattr(module, "script") or hasattr(module, systems.PROGRAM[system])


def measure_row(module, size, usable, options):
    """Runs one row's repetitions; returns system -> list of answers, and system -> Failed."""
    answers, failures = {}, {}
    repeats = options.repeats or (1 if options.quick else getattr(module, "REPEATS", 3))
    request = {"workload": stem(module), "size": size, "seconds": 0.3 if options.quick else 1.0}
    for _ in range(repeats):
        for system, python in usable.items():
            if system in failures or not takes_part(module, system):
                continue
            wait_for_quiet(options.patience)
            with tempfile.TemporaryDirectory() as fresh:
                cache = options.cache or fresh
                try:
                    answer = call_child(python, system, request, getattr(module, "TIMEOUT", 120), cache)
                except Failed as failure:
                    failures[system] = failure
                    continue
            answers.setdefault(system, []).append(answer)
    return answers, failures


def middle(answers):
    """Returns (metric -> median over the repetitions, whether others disturbed them).

    Repetitions that others disturbed are left out where there are undisturbed ones.
    """
    calm = [answer for answer in answers if answer.get("others", 0) < CONTENDED]
    kept = calm or answers
    figures = {metric: statistics.median(a["figures"][metric] for a in kept) for metric in kept[0]["figures"]}
    return figures, not calm


def disagreement(answers):
    """Returns system -> largest relative difference of its results from the median of all systems."""
    checks = {system: runs[0]["check"] for system, runs in answers.items() if runs[0]["check"]}
    worst = dict.fromkeys(checks, 0.0)
    for label in {label for check in checks.values() for label in check}:
        named = {system: check[label] for system, check in checks.items() if label in check}
        if len({tuple(map(len, results)) for results in named.values()}) > 1:
            return dict.fromkeys(checks, math.inf)
        flat = {system: np.concatenate([np.ravel(r) for r in results]) for system, results in named.items()}
        reference = np.nanmedian(list(flat.values()), axis=0)
        for system, values in flat.items():
            difference = np.abs(values - reference) / np.maximum(np.abs(reference), 1e-3)
            worst[system] = max(worst[system], float(np.max(np.nan_to_num(difference, nan=np.inf))))
    return worst


def lines_of(module, figures):
    """Returns the metrics of a row that the tables show, in order: `call` stands for all `call: ...`."""
    wanted = getattr(module, "METRICS", METRICS)
    present = dict.fromkeys(metric for values in figures.values() for metric in values)
    return [m for w in wanted for m in present if m == w or m.startswith(w + ": ")]


def ratio(module, metric, figures):
    """Returns (best peer, its figure over Regrad's), with None for what is not known."""
    peers = getattr(module, "PEERS", systems.SYSTEMS[1:])
    values = {system: figures[system][metric] for system in peers if metric in figures.get(system, {})}
    if not values:
        return None, None
    best = min(values, key=values.get)
    own = figures.get("regrad", {}).get(metric)
    return best, values[best] / own if own else None


def mean(ratios):
    """Returns the geometric mean, or None of nothing."""
    known = [value for value in ratios if value]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def show(value, metric):
    """Returns a figure as the tables show it: seconds in a fitting unit, memory in megabytes."""
    if value is None:
        return "-"
    if metric == "memory":
        return f"{value / 1e6:.0f} MB"
    for unit, scale in (("s", 1), ("ms", 1e3)):
        if value * scale >= 1:
            return f"{value * scale:.3g} {unit}"
    return f"{value * 1e6:.3g} us"


def times(value):
    """Returns a ratio as the tables show it."""
    return "-" if value is None else f"{value:.2f}"


def report(rows, names):
    """Returns the tables, one per section, and the geometric means as text and as a dictionary."""
    text, means = [], {}
    for heading, metrics in SECTIONS.items():
        table, ratios = [["", *names, "best peer", "peer/regrad"]], []
        for row in rows:
            for metric in row["lines"]:
                if metric.split(": ")[0] not in metrics:
                    continue
                label = row["name"] if metric in PLAIN else f"{row['name']}, {metric}"
                cells = [row["failures"].get(n) or show(row["figures"].get(n, {}).get(metric), metric)
                         + ("*" if n in row["disturbed"] else "") for n in names]
                best, value = row["ratios"][metric]
                ratios.append(value)
                table.append([label.replace("steady: ", ""), *cells, best or "-", times(value)])
        if len(table) == 1:
            continue
        means[heading] = mean(ratios)
        widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
        text.append(f"\n{heading}")
        for line in table:
            text.append("  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                                  for i, (cell, w) in enumerate(zip(line, widths, strict=True))).rstrip())
        text.append(f"geometric mean of peer/regrad: {times(means[heading])}")
    # Each row counts once in the whole, however many figures it has.
    speeds = [mean(value for metric, (_, value) in row["ratios"].items() if metric != "memory")
              for row in rows]
    means["all rows, without memory"] = mean(speeds)
    text.append(f"\nGeometric mean over all rows, memory aside: {times(means['all rows, without memory'])} "
                "(above 1: Regrad is ahead of the best peer)")
    if any(row["disturbed"] for row in rows):
        text.append(f"* other processes took over {CONTENDED:.0%} of the machine in every repetition")
    return text, means


def parse(arguments):
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], metavar="NAME",
                        help="part of a workload's or a row's name; may be given several times")
    parser.add_argument("--systems", default=",".join(systems.SYSTEMS), help="comma-separated: %(default)s")
    parser.add_argument("--quick", action="store_true", help="smaller sizes, one repetition")
    parser.add_argument("--repeats", type=int, help="repetitions, instead of each workload's own number")
    parser.add_argument("--patience", type=float, default=0, metavar="SECONDS",
                        help="wait up to so long before each measurement for others to leave the machine")
    parser.add_argument("--warm-cache", action="store_true",
                        help="keep compile caches between processes: what a program's second start costs")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "latest.json")
    parser.add_argument("--list", action="store_true", help="name the workloads and rows, and stop")
    for system in systems.SYSTEMS:
        parser.add_argument(f"--python-{system}", *(["--python-tf"] if system == "tensorflow" else []),
                            default=systems.default_python(system), metavar="PATH", dest=f"python_{system}",
                            help=f"the interpreter that has it (or BENCH_PYTHON_{system.upper()})")
    options = parser.parse_args(arguments)
    options.systems = [name for name in systems.SYSTEMS if name in options.systems.split(",")]
    return options


def measure_all(workloads, usable, options):
    """Measures every row; yields them as the report and the JSON file have them."""
    total, count = sum(len(sizes) for _, sizes in workloads), itertools.count(1)
    for module, sizes in workloads:
        for name, size in sizes.items():
            print(f"[{next(count)}/{total}] {name}", file=sys.stderr, flush=True)
            answers, failures = measure_row(module, size, usable, options)
            figures, disturbed = {}, []
            for system, runs in answers.items():
                if system not in failures:
                    figures[system], noisy = middle(runs)
                    disturbed += [system] * noisy
            lines = lines_of(module, figures)
            yield {
                "workload": stem(module), "name": name, "size": size, "lines": lines,
                "figures": figures, "disturbed": disturbed,
                "failures": {s: str(f).split(":")[0] for s, f in failures.items()},
                "messages": {s: str(f)[-2000:] for s, f in failures.items()},
                "ratios": {metric: ratio(module, metric, figures) for metric in lines},
                "disagreement": disagreement(answers),
                "repetitions": {s: [a["figures"] for a in runs] for s, runs in answers.items()},
                "others": {s: [a.get("others") for a in runs] for s, runs in answers.items()},
            }


def remarks(workloads, rows):
    """Returns lines on disagreements, failures and what workloads say of their rows; and how many faults."""
    text, faults = [], 0
    for row in rows:
        for system, worst in row["disagreement"].items():
            if worst > TOLERANCE:
                faults += 1
                text.append(f"DISAGREES: {row['name']}, {system}: {worst:.1e} off the median of the systems")
        for system, message in row["messages"].items():
            faults += 1
            text.append(f"FAILED: {row['name']}, {system}: {last_line(message)}")
    compared = [row for row in rows if len(row["disagreement"]) > 1]
    text.append(f"Results of at least two systems were compared in {len(compared)} rows, to {TOLERANCE}.")
    for module, _ in workloads:
        if hasattr(module, "summary"):
            mine = [row for row in rows if row["workload"] == stem(module)]
            text += module.summary({row["name"]: row["figures"] for row in mine})
    return text, faults


def main(arguments=None):
    """Runs the benchmarks; returns 1 if Regrad is absent, a present system fails, or results disagree."""
    options = parse(arguments)
    workloads = load_workloads(options.only, options.quick)
    if options.list:
        for module, sizes in workloads:
            print(f"{stem(module)}: {', '.join(sizes)}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that no process is left behind
    begin, load = time.time(), os.getloadavg()
    pythons = {system: getattr(options, f"python_{system}") for system in options.systems}
    versions = probe(pythons)
    usable = {system: python for system, python in pythons.items() if isinstance(versions[system], str)}
    if "regrad" in usable:  # as pip does with what it copies, such as the peers; an editable one's bytecode may be old
        subprocess.run([usable["regrad"], "-m", "compileall", "-q", systems.ROOT / "regrad"], check=False)
    with tempfile.TemporaryDirectory() as cache:
        options.cache = cache if options.warm_cache else None
        rows = []
        try:
            for row in measure_all(workloads, usable, options) if usable else ():
                rows.append(row)
        except KeyboardInterrupt:
            print("Interrupted: what follows is of the rows measured so far.", file=sys.stderr)
    tables, means = report(rows, list(usable))
    notes, faults = remarks(workloads, rows)
    print("\n".join([*tables, *notes]))
    absent = {system: last_line(v) for system, v in versions.items() if system not in usable}
    if absent:
        print("Not measured: " + "; ".join(f"{system} ({reason})" for system, reason in absent.items()))
    print(f"{time.time() - begin:.0f} s in all; {os.cpu_count()} cores, load {load[0]:.1f} before and "
          f"{os.getloadavg()[0]:.1f} after")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps({
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(begin)), "seconds": time.time() - begin,
        "quick": options.quick, "warm cache": options.warm_cache,
        "machine": {"system": platform.platform(), "processor": platform.processor() or platform.machine(),
                    "cores": os.cpu_count(), "load": [load[0], os.getloadavg()[0]]},
        "versions": {s: v if isinstance(v, str) else None for s, v in versions.items()}, "absent": absent,
        "geometric means": means, "rows": rows, "remarks": notes}, indent=1))
    return 1 if faults or "regrad" in absent else 0


if __name__ == "__main__":
    sys.exit(main())
