#!/usr/bin/env python3
"""As much of the `dxc` command as the tests use, on top of its library `libdxcompiler.so` beside this file.

Nobody packages the command for Debian, but a package on PyPI carries the library (see .ci/setup). Methods have their places
in version 1.7: on Linux that has two destructors behind the three methods of IUnknown.
"""

import ctypes
import os
import pathlib
import sys
import uuid
from ctypes import POINTER, addressof, c_int32, c_size_t, c_uint32, c_void_p, c_wchar_p

COMPILER_CLASS = "73e22d93-e6ce-47f3-b5bf-f0664f39c1b0"
COMPILER_3 = "228b4687-5a6a-4730-900c-9702b2203f54"
RESULT = "58346cda-dde7-4497-9461-6f87af5e0659"
# Of each interface its own first method.
FIRST = 5
UTF_8 = 65001


class Source(ctypes.Structure):
    _fields_ = [("text", c_void_p), ("size", c_size_t), ("encoding", c_uint32)]


def method(instance, place, result, *arguments):
    table = ctypes.cast(instance, POINTER(POINTER(c_void_p))).contents
    function = ctypes.CFUNCTYPE(result, c_void_p, *arguments)(table[FIRST + place])
    return lambda *values: function(instance, *values)


def guid(text):
    return ctypes.create_string_buffer(uuid.UUID(text).bytes_le, 16)


def succeed(what, code):
    if code < 0:
        sys.exit(f"dxc: {what}: {code & 0xFFFFFFFF:#x}")


def contents(blob):
    start, size = method(blob, 0, c_void_p)(), method(blob, 1, c_size_t)()
    return ctypes.string_at(start, size) if start else b""


def part(result, place):
    blob = c_void_p()
    succeed("result", method(result, place, c_int32, c_void_p)(addressof(blob)))
    return contents(blob) if blob else b""


def main():
    *options, path = sys.argv[1:]
    output = None
    if "-Fo" in options:
        at = options.index("-Fo")
        output = options[at + 1]
        del options[at : at + 2]
    with open(path, "rb") as file:
        text = file.read()
    kept = ctypes.create_string_buffer(text, max(len(text), 1))
    source = Source(addressof(kept), len(text), UTF_8)
    arguments = (c_wchar_p * len(options))(*options)
    library = ctypes.CDLL(str(pathlib.Path(__file__).resolve().parent / "libdxcompiler.so"))
    compiler, result, status = c_void_p(), c_void_p(), c_int32()
    create = library.DxcCreateInstance
    succeed("compiler", create(guid(COMPILER_CLASS), guid(COMPILER_3), ctypes.byref(compiler)))
    # The source, the options, no includes, and what comes of them.
    types = [c_void_p, c_void_p, c_uint32, c_void_p, c_void_p, c_void_p]
    compile_ = method(compiler, 0, c_int32, *types)
    wanted = guid(RESULT)
    succeed(
        "compilation",
        compile_(addressof(source), addressof(arguments), len(options), None, addressof(wanted), addressof(result)),
    )
    succeed("status", method(result, 0, c_int32, c_void_p)(addressof(status)))
    sys.stderr.write(part(result, 2).rstrip(b"\0").decode())
    if status.value < 0:
        return 1
    compiled = part(result, 1)
    if not compiled.startswith(b"DXBC"):
        sys.exit("dxc: no container came out")
    if output:
        with open(output, "wb") as file:
            file.write(compiled)
    return 0


try:
    status = main()
except SystemExit as failure:
    print(failure, file=sys.stderr)
    status = 1
sys.stderr.flush()
# Now and then the library waits for itself for good when it is unloaded: it is left as it is.
os._exit(status)
