# SPDX-License-Identifier: Apache-2.0
"""Imports: graphs that a program captured with CUDA."""
from __future__ import annotations

import contextlib
import dataclasses
import html
import json
import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from braid._binding import ffi, lib
from braid._device import Device
from braid._errors import check, refuse
from braid._exec import Exec
from braid._graph import Graph
from braid._interrupts import stray
from braid._lifetime import Hold, Owned, Owner, run_deferred
from braid._memory import describe
from braid._text import capture
from braid.record import Record


@dataclasses.dataclass(frozen=True)
class ImportInfo:
    """What an import found; see braid_import_info."""

    num_nodes: int
    num_kernels: int
    num_copies: int
    num_fills: int
    num_host_calls: int
    num_allocations: int
    num_unproven: int
    num_races: int
    num_rewritten: int
    longest_captured: int
    longest_kept: int
    num_captured: int
    num_kept: int
    num_conditionals: int
    num_reloadable: int
    num_stated: int
    num_pointers: int
    num_waits: int
    num_repeats: int
    num_constants: int
    frame_ns: int
    wait_ns: int
    call_ns: int
    repeated_bytes: int
    device_ns: int
    kernel_ns: int
    idle_ns: int
    moved_bytes: int
    num_left_out: int


@dataclasses.dataclass(frozen=True)
class Conditional:
    """A conditional node of a captured graph, a loop or else a branch, by addresses; see braid_import_conditional. A branch
    runs the first body if the word at `condition` is not 0, and else the second. None: it lacks that."""

    node: int
    is_loop: bool
    handle: int
    condition: int
    bodies: Sequence[Optional[int]]
    otherwise: int = 0
    otherwise_handle: int = 0


@dataclasses.dataclass(frozen=True)
class Statement:
    """The memory of captured kernels whose code proves nothing; see braid_import_statement. `nodes` are addresses of
    CUgraphNodes. `reads` and `writes` are ranges: pairs of an address and a number of bytes."""

    nodes: Sequence[int]
    reads: Sequence[Tuple[int, int]] = ()
    writes: Sequence[Tuple[int, int]] = ()


@dataclasses.dataclass(frozen=True)
class Part:
    """Memory by its address, which counts as a buffer of its own. `is_closed`: pointers in it lead into closed parts; see
    braid_import_buffer."""

    address: int
    num_bytes: int
    is_closed: bool = False


class Imported(Owned):
    """A CUDA graph that the program captured, as a graph of Braid: see braid_import_create. `captured` is the address
    of a CUgraph. `texts` are PTX, `files` paths to PTX. `find_text(entry)` returns further texts that have an entry, as
    strings. `buffers` are arrays that count as buffers of their own, such as the tensors of a framework that hands out
    parts of one block, or each a `Part`. `is_unwatched`: nobody looks at pinned, managed or peer memory before a frame has ended.
    `conditionals` has each conditional node, and `setters` the names of kernels that hand words to their handles.
    `reloaded` are PTX that the modules were made of: kernels may also be loaded from these, to start early.
    `statements` tell the memory of kernels whose code proves nothing. `confined` has the names of such kernels that write
    only memory which their parameters point into. `follows_pointers`: memory keeps the pointers that
    kernels load from it, until the next update."""

    def __init__(self, device: Device, captured: int, *, texts: Sequence[str] = (),
                 files: Sequence[Union[str, os.PathLike[str]]] = (),
                 find_text: Optional[Callable[[str], Sequence[str]]] = None,
                 buffers: Sequence[Any] = (), is_unwatched: bool = False,
                 conditionals: Sequence[Conditional] = (), setters: Sequence[str] = (), reloaded: Sequence[str] = (),
                 statements: Sequence[Statement] = (), follows_pointers: bool = False, confined: Sequence[str] = ()):
        run_deferred()
        if not isinstance(device, Device):
            raise refuse(f"an import is made for a device, and {device!r} is none")
        options = ffi.new("braid_import_options *")
        kept: List[Any] = []
        _fill_lists(options, kept, texts, files, buffers)
        _fill_conditionals(options, kept, conditionals, setters)
        _fill_statements(options, kept, statements)
        _fill_confined(options, kept, confined)
        options.is_unwatched = is_unwatched
        options.follows_pointers = follows_pointers
        loaded = _texts_of(reloaded, kept, "reloaded")
        options.reloaded, options.num_reloaded = loaded, len(reloaded)
        finder = _Finder(find_text)
        if find_text is not None:
            handle = ffi.new_handle(finder)
            options.find_text, options.user = lib.braid_python_find_text, handle
        out = ffi.new("braid_import **")
        with device._owner as on:
            status = lib.braid_import_create(on, ffi.cast("void *", int(captured)), options, out)
        finder.raise_failure()
        check(status)
        self._owner = Owner("import", out[0], lib.braid_import_destroy, parent=device._owner)

    @classmethod
    def of_record(cls, record: Record, frame: Optional[int] = None, *, texts: Sequence[str] = (),
                  files: Sequence[Union[str, os.PathLike[str]]] = (), buffers: Sequence[Any] = (),
                  is_unwatched: bool = False, setters: Sequence[str] = (), confined: Sequence[str] = (),
                  follows_pointers: bool = True, device: Optional[Device] = None, functions: Sequence[Optional[int]] = (),
                  makes_memory: bool = False, leaves_constants: bool = False) -> Imported:
        """A frame of a record, by its number, or all of its operations: see braid_import_create_recorded. Without a device
        the graph is only there to be planned. Functions are CUfunctions, by kernel of the record."""
        run_deferred()
        options = ffi.new("braid_import_options *")
        kept: List[Any] = []
        _fill_lists(options, kept, texts, files, buffers)
        _fill_conditionals(options, kept, (), setters)
        _fill_confined(options, kept, confined)
        options.is_unwatched, options.follows_pointers = is_unwatched, follows_pointers
        listed = ffi.new("void *[]", [ffi.cast("void *", one or 0) for one in functions])
        options.functions, options.num_functions = listed, len(functions)
        options.makes_memory, options.leaves_constants = makes_memory, leaves_constants
        out = ffi.new("braid_import **")
        owner = record._owner
        with contextlib.ExitStack() as used:
            used.enter_context(owner)
            if device is not None:
                options.device = used.enter_context(device._owner)
                # Its modules are the device's, and its texts the record's.
                held = device._owner
                held.acquire()
                owner = Owner("record", record.contents, lambda _: held.release(), parent=owner)
            try:
                check(lib.braid_import_create_recorded(record.contents, lib.BRAID_RECORD_NONE if frame is None else frame,
                                                       options, out))
            except BaseException:
                if device is not None:
                    owner.release()
                raise
            made = cls.__new__(cls)
            made._owner = Owner("import", out[0], lib.braid_import_destroy, parent=owner)
            if device is not None:
                owner.release()
        return made

    @property
    def graph(self) -> Graph:
        """The graph to plan and play. It takes no further nodes, and keeps the import."""
        return Graph._of_import(lib.braid_import_get_graph(self._owner.pointer), self._owner, Hold(self._owner))

    def restore(self) -> None:
        """Fills the memory of a recorded frame as it was at its begin: see braid_import_restore."""
        with self._owner as imported:
            check(lib.braid_import_restore(imported))

    def memory_digest(self, memory: int) -> int:
        """The digest of memory of a recorded frame as it is now: see braid_import_get_memory_digest."""
        out = ffi.new("uint64_t *")
        with self._owner as imported:
            check(lib.braid_import_get_memory_digest(imported, memory, out))
        return int(out[0])

    def update(self, captured: int, exec: Exec, *, buffers: Sequence[Any] = (), is_unwatched: bool = False,
               conditionals: Sequence[Conditional] = (), setters: Sequence[str] = (),
               statements: Sequence[Statement] = (), follows_pointers: bool = False,
               confined: Sequence[str] = ()) -> None:
        """Gives an exec of the graph the values of another capture of the same shape: see braid_import_update. The lists
        are those of the other capture."""
        options = ffi.new("braid_import_options *")
        kept: List[Any] = []
        _fill_lists(options, kept, (), (), buffers)
        _fill_conditionals(options, kept, conditionals, setters)
        _fill_statements(options, kept, statements)
        _fill_confined(options, kept, confined)
        options.is_unwatched = is_unwatched
        options.follows_pointers = follows_pointers
        with self._owner as pointer, exec._owner as of:
            check(lib.braid_import_update(pointer, ffi.cast("void *", int(captured)), options, of))

    @property
    def info(self) -> ImportInfo:
        found = ffi.new("braid_import_info *")
        lib.braid_import_get_info(self._owner.pointer, found)
        return ImportInfo(*(int(getattr(found, field.name)) for field in dataclasses.fields(ImportInfo)))

    @property
    def text(self) -> str:
        """What the import found: orders, how many nodes may run at once, possible races, and functions that are not
        proven, with the reason and how long the longest path would be if they were."""
        return self._write(lib.BRAID_IMPORT_TEXT)

    @property
    def report(self) -> Dict[str, Any]:
        """The same as `text`, as numbers, strings and lists, and each node that is not proven."""
        found: Dict[str, Any] = json.loads(self._write(lib.BRAID_IMPORT_JSON))
        return found

    @property
    def page(self) -> str:
        """The same as `text`, as a page of HTML that needs nothing else."""
        return self._write(lib.BRAID_IMPORT_PAGE)

    def _repr_html_(self) -> str:
        # a frame keeps the style of the page out of the notebook
        return f'<iframe srcdoc="{html.escape(self.page)}" style="width:100%;height:480px;border:0"></iframe>'

    def _write(self, form: int) -> str:
        with self._owner as pointer:
            return capture(lambda file: lib.braid_import_write(pointer, form, file)).decode("utf-8", "replace")


def _texts_of(texts: Sequence[str], kept: List[Any], what: str) -> Any:
    if isinstance(texts, (str, bytes)):
        raise refuse(f"{what} is a list of strings, and not one string")
    made = [ffi.new("char[]", os.fsencode(text)) for text in texts]
    kept.extend(made)
    return ffi.new("const char *[]", made)


def _part_of(buffer: Any) -> Part:
    if isinstance(buffer, Part):
        return buffer
    span = describe(buffer)
    return Part(span.address, span.nbytes)


def _fill_lists(options: Any, kept: List[Any], texts: Sequence[str],
                files: Sequence[Union[str, os.PathLike[str]]], buffers: Sequence[Any]) -> None:
    options.num_texts, options.num_files, options.num_buffers = len(texts), len(files), len(buffers)
    lists = _texts_of(texts, kept, "texts"), _texts_of([os.fspath(file) for file in files], kept, "files")
    ranges = ffi.new("braid_import_buffer[]", len(buffers))
    for range_, part in zip(ranges, map(_part_of, buffers)):
        range_.address, range_.bytes, range_.is_closed = ffi.cast("void *", part.address), part.num_bytes, part.is_closed
    options.texts, options.files = lists
    options.buffers = ranges
    kept.extend([*lists, ranges])


def _fill_conditionals(options: Any, kept: List[Any], conditionals: Sequence[Conditional], setters: Sequence[str]) -> None:
    nodes, names = ffi.new("braid_import_conditional[]", len(conditionals)), _texts_of(setters, kept, "setters")
    for node, told in zip(nodes, conditionals):
        node.node, node.otherwise = ffi.cast("void *", told.node), ffi.cast("void *", told.otherwise)
        node.kind = lib.BRAID_IMPORT_WHILE if told.is_loop else lib.BRAID_IMPORT_IF
        node.handle, node.otherwise_handle = told.handle, told.otherwise_handle
        node.condition = ffi.cast("void *", told.condition)
        for index, body in enumerate(told.bodies):
            node.bodies[index] = ffi.cast("void *", body or 0)
    options.conditionals, options.num_conditionals = nodes, len(conditionals)
    options.setters, options.num_setters = names, len(setters)
    kept.extend([nodes, names])


def _fill_confined(options: Any, kept: List[Any], confined: Sequence[str]) -> None:
    names = _texts_of(confined, kept, "confined")
    options.confined, options.num_confined = names, len(confined)
    kept.append(names)


def _fill_statements(options: Any, kept: List[Any], statements: Sequence[Statement]) -> None:
    told = ffi.new("braid_import_statement[]", len(statements))
    for into, statement in zip(told, statements):
        touched = [(False, at) for at in statement.reads] + [(True, at) for at in statement.writes]
        nodes = ffi.new("const void *[]", [ffi.cast("void *", node) for node in statement.nodes])
        ranges = ffi.new("braid_import_range[]", len(touched))
        for range_, (is_written, (address, num_bytes)) in zip(ranges, touched):
            range_.address, range_.bytes, range_.is_written = ffi.cast("void *", address), num_bytes, is_written
        into.nodes, into.num_nodes, into.ranges, into.num_ranges = nodes, len(statement.nodes), ranges, len(touched)
        kept.extend([nodes, ranges])
    options.statements, options.num_statements = told, len(statements)
    kept.append(told)


class _Finder:
    """Answers C, which asks for one text after another. What the program's function raises ends the import."""

    def __init__(self, function: Optional[Callable[[str], Sequence[str]]]):
        self._function = function
        self._failure: Optional[BaseException] = None
        self._texts: List[Any] = []

    def find(self, entry: str, index: int) -> Any:
        if self._failure is not None or self._function is None:
            return ffi.NULL
        try:
            if index == 0:
                self._texts = [ffi.new("char[]", text.encode()) for text in self._function(entry)]
            return self._texts[index] if index < len(self._texts) else ffi.NULL
        except BaseException as failure:  # C cannot hear of it
            self._failure = failure
            return ffi.NULL

    def raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _find_text(entry: Any, index: int, user: Any) -> Any:
    finder: _Finder = ffi.from_handle(user)
    return finder.find(ffi.string(entry).decode("utf-8", "replace"), index)


ffi.def_extern(name="braid_python_find_text", error=ffi.NULL, onerror=stray)(_find_text)
