"""Names of devices: what `tf.device` records on operations. They place nothing; XLA does.

A name is "/job:worker/replica:0/task:1/device:GPU:0", of which any part may be missing.
"""


class DeviceSpec:
    """The parts of a device's name, None where one is missing.

    Attributes:
      job: a string.
      replica, task, device_index: ints.
      device_type: a string in capitals, such as "GPU".
    """

    def __init__(self, job=None, replica=None, task=None, device_type=None, device_index=None):
        self.job = None if job is None else str(job)
        self.replica = None if replica is None else int(replica)
        self.task = None if task is None else int(task)
        self.device_type = device_type.upper() if device_type in ("cpu", "gpu") else device_type
        self.device_index = None if device_index is None else int(device_index)

    @classmethod
    def from_string(cls, spec):
        """Returns the DeviceSpec of a name; ValueError for parts that are not known."""
        return cls().parse_from_string(spec)

    def parse_from_string(self, spec):
        """Takes the parts of the name `spec`, and returns itself.

        Raises:
          ValueError: a part that is not known, or a device given twice.
        """
        self.__init__()
        if not isinstance(spec, str):
            raise TypeError(f"A device is named by a string such as '/gpu:0', got {spec!r}.")
        for part in (part.split(":") for part in spec.split("/")):
            kind = part[0].lower()
            if kind in ("cpu", "gpu", "device") and len(part) > 1 and self.device_type is not None:
                raise ValueError(f"Cannot specify multiple device types: {spec}")
            if kind in ("job", "replica", "task") and len(part) == 2:
                setattr(self, kind, part[1] if kind == "job" else int(part[1]))
            elif kind in ("cpu", "gpu") and len(part) in (1, 2):
                self.device_type, self.device_index = kind.upper(), _index(part[1:])
            elif kind == "device" and len(part) in (2, 3):
                self.device_type, self.device_index = part[1], _index(part[2:])
            elif part != [""]:
                raise ValueError(f"Unknown attribute: '{part[0]}' in '{spec}'; a device's name is such as '/gpu:0' or "
                                 "'/job:worker/task:1'.")
        return self

    def merge_from(self, dev):
        """Takes what `dev` says; what it does not say stays."""
        for name in ("job", "replica", "task", "device_type", "device_index"):
            value = getattr(dev, name)
            if value is not None:
                setattr(self, name, value)

    def to_string(self):
        """Returns the name."""
        text = "".join(f"/{name}:{getattr(self, name)}" for name in ("job", "replica", "task")
                       if getattr(self, name) is not None)
        if self.device_type is not None:
            text += f"/device:{self.device_type}:{'*' if self.device_index is None else self.device_index}"
        return text

    def __eq__(self, other):
        return isinstance(other, DeviceSpec) and self.to_string() == other.to_string()

    def __hash__(self):
        return hash(self.to_string())

    def __repr__(self):
        return f"<DeviceSpec {self.to_string()!r}>"


def _index(rest):
    if not rest or rest[0] == "*":
        return None
    if not rest[0].isdigit():
        raise ValueError(f"The index of a device must be a number or *, got {rest[0]!r}.")
    return int(rest[0])


def canonical_name(device):
    """Returns the name of a DeviceSpec or of a name in another spelling; "" for None."""
    if device is None:
        return ""
    return (device if isinstance(device, DeviceSpec) else DeviceSpec.from_string(device)).to_string()


def check_valid(spec):
    """Raises ValueError unless `spec` is a device's name."""
    DeviceSpec.from_string(spec)


def joined(outer, inner):
    """Returns the name `inner` with what it lacks taken from the name `outer`."""
    result = DeviceSpec.from_string(outer)
    result.merge_from(inner if isinstance(inner, DeviceSpec) else DeviceSpec.from_string(inner))
    return result.to_string()


def merge_device(spec):
    """Returns a function of an operation: its device's name, completed by the parts of `spec` that it lacks."""
    spec = spec if isinstance(spec, DeviceSpec) else DeviceSpec.from_string(spec or "")

    def merged(op):
        result = DeviceSpec()
        result.merge_from(spec)
        result.merge_from(DeviceSpec.from_string(op.device or ""))
        return result.to_string()

    return merged
