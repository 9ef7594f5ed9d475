"""Hashes of strings into buckets, with TensorFlow's numbers: Murmur, FarmHash and SipHash, of 64 bits. On the host."""

import struct

import numpy as np

from regrad.core import dtypes
from regrad.core.errors import BadValue
from regrad.core.opdef import Spec
from regrad.ops.array import one_of
from regrad.ops.hosted import host_op

_M = 2**64 - 1


def _rotated(x, by):
    """Returns a number of 64 bits turned right."""
    return (x >> by | x << (64 - by)) & _M


def murmur(data):
    """Returns TensorFlow's own hash, MurmurHash64A (Appleby) of a fixed seed."""
    m = 0xC6A4A7935BD1E995
    h = 0xDECAFCAFFE ^ (len(data) * m & _M)
    whole = len(data) // 8 * 8
    for (k,) in struct.iter_unpack("<Q", data[:whole]):
        k = k * m & _M
        k = (k ^ k >> 47) * m & _M
        h = (h ^ k) * m & _M
    rest = data[whole:]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & _M
    h = (h ^ h >> 47) * m & _M
    return h ^ h >> 47


# -- FarmHash's Fingerprint64 (Pike, 2014), whose values are fixed ---------------------------------------
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _mixed(x):
    return x ^ x >> 47


def _joined(u, v, mul):
    a = _mixed((u ^ v) * mul & _M)
    return _mixed((v ^ a) * mul & _M) * mul & _M


def _weak(words, a, b):
    w, x, y, z = words
    a = (a + w) & _M
    b = _rotated((b + a + z) & _M, 21)
    c = a
    a = (a + x + y) & _M
    b = (b + _rotated(a, 44)) & _M
    return (a + z) & _M, (b + c) & _M


def farmhash(data):
    """Returns FarmHash's Fingerprint64."""
    n = len(data)

    def at(i):
        return int.from_bytes(data[i:i + 8], "little")

    mul = _K2 + n * 2 & _M
    if n <= 16:
        if n >= 8:
            a, b = at(0) + _K2 & _M, at(n - 8)
            return _joined(_rotated(b, 37) * mul + a & _M, (_rotated(a, 25) + b) * mul & _M, mul)
        if n >= 4:
            first, last = (int.from_bytes(data[i:i + 4], "little") for i in (0, n - 4))
            return _joined(n + (first << 3), last, mul)
        if n:
            y, z = data[0] + (data[n >> 1] << 8), n + (data[n - 1] << 2)
            return _mixed((y * _K2 & _M) ^ (z * _K0 & _M)) * _K2 & _M
        return _K2
    if n <= 32:
        a, b, c, d = at(0) * _K1 & _M, at(8), at(n - 8) * mul & _M, at(n - 16) * _K2 & _M
        return _joined(_rotated(a + b & _M, 43) + _rotated(c, 30) + d & _M, a + _rotated(b + _K2 & _M, 18) + c & _M, mul)
    if n <= 64:
        a, b, c, d = at(0) * _K2 & _M, at(8), at(n - 8) * mul & _M, at(n - 16) * _K2 & _M
        y = _rotated(a + b & _M, 43) + _rotated(c, 30) + d & _M
        z = _joined(y, a + _rotated(b + _K2 & _M, 18) + c & _M, mul)
        e, f = at(16) * mul & _M, at(24)
        g, h = (y + at(n - 32)) * mul & _M, (z + at(n - 24)) * mul & _M
        return _joined(_rotated(e + f & _M, 43) + _rotated(g, 30) + h & _M, e + _rotated(f + a & _M, 18) + g & _M, mul)

    def words(i):
        return at(i), at(i + 8), at(i + 16), at(i + 24)

    x, y = 81, 81 * _K1 + 113 & _M
    z = _mixed(y * _K2 + 113 & _M) * _K2 & _M
    v = w = (0, 0)
    x = x * _K2 + at(0) & _M

    def turn(x, y, z, v, w, s, mul, last):
        x = _rotated(x + y + v[0] + at(s + 8) & _M, 37) * mul & _M
        y = _rotated(y + v[1] + at(s + 48) & _M, 42) * mul & _M
        x ^= w[1] * (9 if last else 1) & _M
        y = y + v[0] * (9 if last else 1) + at(s + 40) & _M
        z = _rotated(z + w[0] & _M, 33) * mul & _M
        v = _weak(words(s), v[1] * mul & _M, x + w[0] & _M)
        w = _weak(words(s + 32), z + w[1] & _M, y + at(s + 16) & _M)
        return z, y, x, v, w

    for s in range(0, (n - 1) // 64 * 64, 64):
        x, y, z, v, w = turn(x, y, z, v, w, s, _K1, False)
    mul = _K1 + ((z & 0xFF) << 1) & _M
    w = w[0] + ((n - 1) & 63) & _M, w[1]
    v = v[0] + w[0] & _M, v[1]
    w = w[0] + v[0] & _M, w[1]
    x, y, z, v, w = turn(x, y, z, v, w, n - 64, mul, True)
    return _joined(_joined(v[0], w[0], mul) + _mixed(y) * _K0 + z & _M, _joined(v[1], w[1], mul) + x & _M, mul)


def siphash(data, key):
    """Returns SipHash-2-4 (Aumasson and Bernstein 2012) with a key of two numbers."""
    k0, k1 = key
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def turn():
        a, b, c, d = v
        a = a + b & _M
        b = _rotated(b, 51) ^ a
        a = _rotated(a, 32)
        c = c + d & _M
        d = _rotated(d, 48) ^ c
        a = a + d & _M
        d = _rotated(d, 43) ^ a
        c = c + b & _M
        b = _rotated(b, 47) ^ c
        v[:] = a, b, _rotated(c, 32), d

    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        v[3] ^= word
        turn()
        turn()
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        turn()
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def _buckets(function):
    def lower(b, x, *, num_buckets, **attrs):
        hashed = [function(text, **attrs) % num_buckets for text in x.reshape(-1)]
        return np.array(hashed, np.int64).reshape(x.shape)

    return lower


def _buckets_infer(x, *, num_buckets, **attrs):
    if num_buckets < 1:
        raise BadValue(f"num_buckets: {num_buckets} is less than the minimum 1")
    return Spec(x.dims, dtypes.int64)


def _define(op_type, signature, lower, **attrs):
    return host_op(op_type, signature, _buckets_infer, lower, {"num_buckets": 1, **attrs})


stringtohashbucket_op = _define("StringToHashBucket", "string_tensor: string", _buckets(murmur))
stringtohashbucketfast_op = _define("StringToHashBucketFast", "input: string", _buckets(farmhash))
stringtohashbucketstrong_op = _define("StringToHashBucketStrong", "input: string", _buckets(siphash), key=(0, 0))


def string_to_hash_bucket(string_tensor=None, num_buckets=None, name=None, input=None):
    """Returns strings as numbers in [0, num_buckets), int64, by a hash that may differ between platforms in TensorFlow."""
    strings = one_of("input", input, "string_tensor", string_tensor)
    return stringtohashbucket_op(strings, num_buckets=int(num_buckets), name=name)


def string_to_hash_bucket_fast(input, num_buckets, name=None):
    """Returns strings as numbers in [0, num_buckets), int64, by FarmHash's Fingerprint64."""
    return stringtohashbucketfast_op(input, num_buckets=int(num_buckets), name=name)


def string_to_hash_bucket_strong(input, num_buckets, key, name=None):
    """Returns strings as numbers in [0, num_buckets), int64, by SipHash with a key of two numbers."""
    if len(key) != 2:
        raise ValueError(f"string_to_hash_bucket_strong: Key must have 2 elements, got {key!r}.")
    return stringtohashbucketstrong_op(input, num_buckets=int(num_buckets), key=tuple(int(k) & _M for k in key), name=name)
