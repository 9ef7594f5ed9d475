"""`tf.train.queue_runner`: threads that fill queues."""

import sys

from regrad.train.coordinator import QueueRunner, add_queue_runner, start_queue_runners

queue_runner = sys.modules[__name__]  # `tf.train.queue_runner`, before anybody imports it

__all__ = ["QueueRunner", "add_queue_runner", "start_queue_runners"]
