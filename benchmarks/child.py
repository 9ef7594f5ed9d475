"""Measures one row of one workload on one system, and prints the figures as one line of JSON.

Run by `run.py` under the system's own interpreter; outside the workloads only the standard library is used.
"""

import importlib
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import systems

MARK = "@figures "  # precedes the JSON line, whatever else a system prints
RESULTS_KEPT = 3
clock = time.perf_counter


def peak_bytes():
    """Returns the most memory this process has held, in bytes."""
    # ru_maxrss survives exec on Linux, so a small process would report its parent's size; VmHWM does not.
    try:
        line = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
        return int(line.split()[1]) * 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def median(values):
    """Returns the median, without loading `statistics`, which would count in a system's memory."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def digest(result):
    """Returns a few numbers that stand for a result: scalars themselves, of arrays the norm and samples."""
    import numpy as np

    numbers = []
    for part in result if isinstance(result, (list, tuple)) else [result]:
        flat = np.asarray(part, dtype=np.float64).ravel()
        if flat.size > 4:
            samples = flat[np.linspace(0, flat.size - 1, 4).astype(int)]
            # Samples in units of the array's own size, so that near-zero elements need not agree to 1e-3.
            norm = float(np.linalg.norm(flat)) or 1.0
            numbers += [norm, *(1.0 + samples * np.sqrt(flat.size) / norm)]
        else:
            numbers += flat.tolist()
    return [float(number) for number in numbers]


def measure(step, seconds):
    """Times `step()`: the first call alone, then calls after a warm-up, for about `seconds`.

    The warm-up lasts half as long, so that a system that compiles what turns out to be hot has done so.
    A sample is one call or, for quick steps, as many as fill five milliseconds.
    """
    results, early = [], []
    warm_until = None
    while len(early) < RESULTS_KEPT or clock() < warm_until:
        start = clock()
        result = step()
        early.append(clock() - start)
        warm_until = warm_until or clock() + seconds / 2
        if len(results) < RESULTS_KEPT:
            results.append(digest(result))
    calls = max(1, int(0.005 / median(early[-5:])))
    samples, cpu, begin = [], [], clock()
    while clock() - begin < seconds or len(samples) < 5:
        if clock() - begin > 3 * seconds and len(samples) >= 3:
            break  # one slow step must not hold up the suite
        start, start_cpu = clock(), time.process_time()
        for _ in range(calls):
            step()
        cpu.append((time.process_time() - start_cpu) / calls)
        samples.append((clock() - start) / calls)
    figures = {"first": early[0], "steady": median(samples), "fastest": min(samples), "cpu": median(cpu)}
    return figures, results


def run_program(workload, system, size, seconds):
    """Builds the workload's program and measures its steps; returns figures and results for checking."""
    module = systems.load(system)
    data = workload.data(**size)
    figures, check = {}, {}
    start = clock()
    built = getattr(workload, systems.PROGRAM[system])(module, data, **size)
    build = clock() - start
    steps = built if isinstance(built, dict) else {"": built}
    for label, step in steps.items():
        suffix = f": {label}" if label else ""
        if callable(step):
            measured, results = measure(step, seconds)
            if not figures.get("ready"):
                figures["build"], figures["ready"] = build, build + measured["first"]
            figures.update({f"{name}{suffix}": value for name, value in measured.items()})
            check[label] = results
        else:
            figures[label] = step  # measured by the program itself
    figures["memory"] = peak_bytes()
    return figures, check


PEAK_LINE = """
try:
    print([line for line in open("/proc/self/status") if "VmHWM" in line][0].split()[1])
except (OSError, IndexError):
    print(0)
"""


def run_script(workload, system, size, seconds):
    """Runs the workload's script in fresh processes; the line of JSON it prints holds results or figures."""
    command = [sys.executable, "-c", workload.script(system, **size) + PEAK_LINE]
    times, printed, peaks, begin = [], [], [], clock()
    while len(times) < 2 or clock() - begin < seconds:
        start = clock()
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        times.append(clock() - start)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-2000:])
        *_, line, peak = done.stdout.strip().splitlines()
        printed.append(json.loads(line))
        peaks.append(int(peak) * 1024)
    # The least of a few: the first process after a pause may still read its libraries from disk.
    figures = {"process": min(times), "memory": median(peaks)}
    for name in printed[0].get("figures", {}):
        figures[name] = min(line["figures"][name] for line in printed)
    return figures, {"": [printed[0]["results"]]} if "results" in printed[0] else {}


def main():
    """Answers one request, given as JSON: a probe, or a row of a workload."""
    request = json.loads(sys.argv[1])
    system = request["system"]
    if "workload" not in request:  # a probe: is the system there, and which version
        answer = {"version": getattr(systems.load(system), "__version__", "unknown")}
    else:
        workload = importlib.import_module("workloads." + request["workload"])
        run = run_script if hasattr(workload, "script") else run_program
        figures, check = run(workload, system, request["size"], request["seconds"])
        answer = {"figures": figures, "check": check}
    print(MARK + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
