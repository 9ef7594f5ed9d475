"""Makes the environments of the benchmarks: `.bench/<system>`, one for each system, filled by pip.

    python benchmarks/setup.py                              # all four
    python benchmarks/setup.py torch -- --index-url ...     # one, with options for pip

What follows `--` is given to pip: PyTorch's wheels for the CPU alone, for instance, come from its own index.
An environment whose peer can be imported is left as it is.
"""

import subprocess
import sys
import venv

import systems


def importable(system):
    """Says whether the environment of `system` exists and can import it."""
    python = systems.folder(system) / "bin" / "python"
    if not python.exists():
        return False
    command = [python, "-c", systems.IMPORT_LINE[system]]
    done = subprocess.run(command, capture_output=True, env=systems.environment(system), check=False)
    return done.returncode == 0


def main(arguments):
    """Makes the environments named (all by default); returns 1 if one of them failed."""
    cut = arguments.index("--") if "--" in arguments else len(arguments)
    names, pip_options = arguments[:cut] or list(systems.SYSTEMS), arguments[cut + 1:]
    unknown = set(names) - set(systems.SYSTEMS)
    if unknown:
        print(f"Unknown: {', '.join(sorted(unknown))}; the systems are {', '.join(systems.SYSTEMS)}.")
        return 2
    failed = []
    for name in names:
        # Regrad is installed each time: what it requires may have changed.
        if name != "regrad" and importable(name):
            print(f"{name}: ready")
            continue
        folder = systems.folder(name)
        venv.create(folder, with_pip=True)
        (folder.parent / ".gitignore").write_text("*\n")
        install = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", *pip_options]
        done = subprocess.run([*install, *systems.REQUIREMENTS[name]], check=False).returncode == 0
        if not (done and importable(name)):
            failed.append(name)
        print(f"{name}: {'failed; the benchmarks will report it as absent' if name in failed else 'made'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
