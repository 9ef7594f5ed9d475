"""DeviceSpec: the parts of a device's name. Names are recorded; XLA decides where things run."""

import re

_PARTS = ("job", "replica", "task")


class DeviceSpec:
    """The parts of a device's name: "/job:worker/replica:0/task:1/device:CPU:0"; any may be None."""

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job = None if job is None else str(job)
        self.replica, self.task, self.device_index = replica, task, device_index
        self.device_type = "*" if device_type == "*" else None if device_type is None else str(device_type).upper()

    @classmethod
    def from_string(cls, spec):
        """Returns the DeviceSpec of a device's name.

        Raises:
          ValueError: it is none.
        """
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec):
        """Takes the parts of a device's name; returns itself."""
        for part in filter(None, spec.split("/")):
            words = part.split(":")
            kind = words[0].lower()
            if kind == "job" and len(words) == 2:
                self.job = words[1]
            elif kind in ("replica", "task") and len(words) == 2 and words[1].isdigit():
                setattr(self, kind, int(words[1]))
            elif kind == "device" and len(words) in (2, 3):
                self._device(*words[1:])
            elif kind in ("cpu", "gpu", "tpu") and len(words) == 2:
                self._device(*words)
            else:
                raise ValueError(f"Unknown attribute: '{part}' in '{spec}'")
        return self

    def _device(self, kind, index=None):
        self.device_type = kind.upper()
        self.device_index = None if index in (None, "*") else int(index)

    def merge_from(self, dev):
        """Takes what is given in another DeviceSpec."""
        for name in (*_PARTS, "device_type", "device_index"):
            if getattr(dev, name) is not None:
                setattr(self, name, getattr(dev, name))

    def to_string(self):
        """Returns the device's name."""
        text = "".join(f"/{name}:{getattr(self, name)}" for name in _PARTS if getattr(self, name) is not None)
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __str__(self):
        return self.to_string()

    def __repr__(self):
        return f"DeviceSpec({re.sub('^/', '', self.to_string())!r})"
