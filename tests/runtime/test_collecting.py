"""The garbage collector around blocks that make thousands of objects."""

import gc
import threading
import weakref

from regrad.core import collecting
from regrad.core.collecting import paused


class Thing:
    pass


def _cycles(n):
    things = [Thing() for _ in range(n)]
    for thing in things:
        thing.itself = thing
    return things


def test_the_collector_is_back_when_the_last_block_ends():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with paused():
            inside.set()
            leave.wait(10)

    with paused():
        thread = threading.Thread(target=other)
        thread.start()
        inside.wait(10)
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_what_was_made_is_old_and_garbage_is_found_in_the_end(monkeypatch):
    monkeypatch.setattr(collecting, "_MANY", 1_000)
    monkeypatch.setattr(collecting, "_MOST", 20_000)
    monkeypatch.setattr(collecting, "_stayed", 0)
    gc.collect()
    with paused():
        things = _cycles(3_000)
    assert gc.get_freeze_count() == 0
    assert any(o is things[0] for o in gc.get_objects(generation=2))
    first = weakref.ref(things[0])
    del things
    for _ in range(20):
        with paused():
            _cycles(3_000)
        if first() is None:
            break
    assert first() is None
