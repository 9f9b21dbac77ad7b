# SPDX-License-Identifier: Apache-2.0
"""A few lines play PyTorch on the stand-in driver: tensors of one word, operations with schemas, an allocator that hands out
memory again, and streams that are captured."""
import contextlib
import ctypes
import types
import warnings
import weakref

HIDDEN = 1 << 62  # in a word that is no address to look at
SEGMENT, ROUND = 1 << 20, 512


def text_of(name, to, sources, code):
    """PTX: a kernel whose word `to` becomes what the code makes of words."""
    loads = "".join(f"ld.param.u64 %d, [{one}];\n" + ("xor.b64 %d, %d, " + str(HIDDEN) + ";\n" if one == "hidden" else "")
                    + f"ld.global.u32 %r{at}, [%d];\n" for at, one in enumerate(sources))
    flip = "xor.b64 %d, %d, " + str(HIDDEN) + ";\n" if to == "hidden" else ""
    params = ", ".join(f".param .u64 {one}" for one in dict.fromkeys([*sources, to]))
    return (f".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry {name}({params}) {{\n.reg .u64 %d; .reg .u32 %r<3>;\n"
            f"{loads}{code}\nld.param.u64 %d, [{to}];\n{flip}st.global.u32 [%d], %r0;\nret;\n}}\n")


TEXTS = {
    "add": text_of("add", "to", ["a", "b"], "add.u32 %r0, %r0, %r1;"),
    "raise": text_of("raise", "to", ["a"], "add.u32 %r0, %r0, 1;"),
    "into_hidden": text_of("into_hidden", "hidden", ["a", "b"], "add.u32 %r0, %r0, %r1;"),
    "from_hidden": text_of("from_hidden", "to", ["hidden"], "add.u32 %r0, %r0, 0;"),
    "draw": """.version 8.0
.target sm_90
.address_size 64
.visible .entry draw(.param .u64 to, .param .u64 seed, .param .u64 offset, .param .u32 before) {
.reg .u64 %d; .reg .u32 %r<3>;
ld.param.u64 %d, [seed];
ld.global.u32 %r0, [%d];
ld.param.u64 %d, [offset];
ld.global.u32 %r1, [%d];
add.u32 %r0, %r0, %r1;
ld.param.u32 %r2, [before];
add.u32 %r0, %r0, %r2;
ld.param.u64 %d, [to];
st.global.u32 [%d], %r0;
ret;
}
""",  # the sum of a seed, an offset, and the numbers that the graph has drawn before
}
STEP = 4  # by which an operation advances its generator


class Generator:
    """Captured kernels read its seed and its offset from memory. All graphs share it, or each has its own, which its first random
    operation makes."""

    def __init__(self, device, make_tensor, is_inference=lambda: False):
        self.device, self.seed, self.offset, self.drawn, self.memory = device, 1000, 0, None, ()
        self._make, self.is_shared, self.is_inference = make_tensor, True, is_inference
        self.num_fills = 0

    def begin_capture(self):
        if not self.is_shared:
            self.memory = ()
        elif not self.memory:
            self.memory = self._make(), self._make()
        self.drawn = 0

    def end_capture(self):
        drawn, self.drawn = self.drawn, None
        return self.memory, drawn

    def draw(self):
        """Where a kernel finds seed and offset, and the numbers before its own."""
        self.memory = self.memory or (self._make(), self._make())
        before, self.drawn = self.drawn, self.drawn + STEP
        return (*self.memory, before)

    def fill(self, memory, drawn):
        assert self.is_inference() or not any(tensor.is_inference for tensor in memory)
        self.num_fills += bool(memory)
        for tensor, value in zip(memory, (self.seed, self.offset)):
            tensor.fill_(value)
        self.offset += drawn

    def get_offset(self):
        return self.offset

    def set_offset(self, offset):
        assert offset % STEP == 0
        self.offset = offset


class Allocator:
    """Blocks of one segment. A free one is joined with its neighbours, and handed out again."""

    def __init__(self, call):
        memory = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(memory), SEGMENT)
        self.free, self.live, self.events, self.records, self.told = {memory.value: SEGMENT}, {}, [], [], []
        self.begin = memory.value

    def note(self, action, address, size):
        if self.is_recording():
            self.events.append({"action": action, "addr": address, "size": size})

    def take(self, size):
        rounded = -(-size // ROUND) * ROUND
        address = min(at for at, room in self.free.items() if room >= rounded)
        room = self.free.pop(address)
        if room > rounded:
            self.free[address + rounded] = room - rounded
        self.live[address] = size
        self.note("alloc", address, size)
        return address

    def give(self, address):
        size = self.live.pop(address)
        self.note("free_requested", address, size)
        self.note("free_completed", address, size)
        self.free[address] = -(-size // ROUND) * ROUND
        for at in sorted(self.free, reverse=True):
            if at + self.free[at] in self.free:
                self.free[at] += self.free.pop(at + self.free[at])

    def is_recording(self):
        return bool(self.records and self.records[-1])

    def record(self, enabled, **options):
        self.records.append(enabled)
        if not enabled:
            self.events.clear()

    def snapshot(self, pool):
        """All events so far, and blocks of the pool, or of all pools. Looking is an event too."""
        told = {"device_traces": [list(self.events)], "segments": [] if pool else self.blocks()}
        self.told.append(len(self.events) + len(told["segments"]))
        self.note("snapshot", 0, 0)
        return told

    def blocks(self):
        live = [{"address": at, "size": -(-size // ROUND) * ROUND, "state": "active_allocated"} for at, size in self.live.items()]
        return live + [{"address": at, "size": size, "state": "inactive"} for at, size in self.free.items()]


class Storage:
    """A block, as long as tensors have it."""

    def __init__(self, allocator, bytes):
        self.address, self._cdata = allocator.take(bytes), id(self)
        weakref.finalize(self, allocator.give, self.address).atexit = False

    def data_ptr(self):
        return self.address


class Device:
    def __init__(self, index=0):
        self.index, self.type = index, "cuda"

    def __eq__(self, other):
        return self.index == other.index

    def __hash__(self):
        return self.index


def make_torch():
    """The part of PyTorch that braid.torch.optimize uses, as modules by name."""
    torch, cuda = types.ModuleType("torch"), ctypes.CDLL("libcuda.so.1")
    here, modes, inferences, strided = Device(), [], [], object()

    def call(name, *args):
        assert getattr(cuda, name)(*args) == 0, name

    context, functions = ctypes.c_void_p(), {}
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    for name, text in TEXTS.items():
        module, functions[name] = ctypes.c_void_p(), ctypes.c_void_p()
        call("cuModuleLoadData", ctypes.byref(module), text.encode())
        call("cuModuleGetFunction", ctypes.byref(functions[name]), module, name.encode())
    allocator, storages = Allocator(call), {}  # tensors by storage

    def leave(storage):
        storages[storage] -= 1

    class Tensor:
        """One word, or `bytes` of them."""

        __torch_dispatch__ = staticmethod(lambda *args: None)
        is_quantized = is_nested = False
        is_cuda, device, layout, dtype, requires_grad, base = True, here, strided, "uint32", False, lambda self: None

        def __init__(self, bytes=4):
            self._bytes, self.shape, self._strides, self.is_inference = bytes, (1,), (1,), bool(inferences)
            self.set_(Storage(allocator, bytes) if bytes else None)

        def set_(self, storage, *where):
            self._storage = storage
            if storage is not None:
                storages[id(storage)] = storages.get(id(storage), 0) + 1
                weakref.finalize(self, leave, id(storage)).atexit = False
                self._address = storage.address
            return self

        def expand(self, num):
            """Its word, several times."""
            made = Tensor(0).set_(self._storage)
            made._bytes, made.shape, made._strides = self._bytes, (num,), (0,)
            made.base = weakref.ref(self)  # no object of Python has it
            return made

        @property
        def _base(self):
            return self.base()

        def data_ptr(self):
            return self._address

        def untyped_storage(self):
            return self._storage

        def element_size(self):
            return self._bytes

        def numel(self):
            return 1

        def stride(self):
            return self._strides

        def copy_(self, other, non_blocking=False):
            assert 0 not in self._strides, "more than one element of the written-to tensor refers to a single memory location"
            assert bool(inferences) or not self.is_inference
            call("cuMemcpyDtoDAsync_v2", *(ctypes.c_uint64(one.data_ptr()) for one in (self, other)), ctypes.c_size_t(4), Stream.now.handle)

        def item(self):
            call("cuStreamSynchronize", Stream.now.handle)
            word = ctypes.c_uint32()
            call("cuMemcpyDtoH_v2", ctypes.byref(word), ctypes.c_uint64(self._address), ctypes.c_size_t(4))
            return word.value

        def fill_(self, value):
            call("cuMemsetD32Async", ctypes.c_uint64(self._address), value, ctypes.c_size_t(1), Stream.now.handle)

        def set(self, value):
            call("cuMemsetD32_v2", ctypes.c_uint64(self._address), value, ctypes.c_size_t(1))
            return self

    class Stream:
        now = None

        def __init__(self):
            self.handle = ctypes.c_void_p()
            call("cuStreamCreate", ctypes.byref(self.handle), 1)
            self.cuda_stream = self.handle.value

        @classmethod
        def external(cls, handle, device):
            stream = cls.__new__(cls)
            stream.handle, stream.cuda_stream = ctypes.c_void_p(handle), handle
            return stream

        def wait_stream(self, other):
            call("cuStreamSynchronize", other.handle)

        def synchronize(self):
            call("cuStreamSynchronize", self.handle)

        def record_event(self, event=None):
            event = event or Event()
            call("cuEventRecord", event.handle, self.handle)
            return event

        def wait_event(self, event):
            call("cuStreamWaitEvent", self.handle, event.handle, 0)

    class Event:
        def __init__(self):
            self.handle = ctypes.c_void_p()
            call("cuEventCreate", ctypes.byref(self.handle), 2)

        def synchronize(self):
            call("cuEventSynchronize", self.handle)

    @contextlib.contextmanager
    def on(stream):
        before, Stream.now = Stream.now, stream
        try:
            yield
        finally:
            Stream.now = before

    class CUDAGraph:
        def __init__(self, keep_graph=False):
            self.graph, self.exec, self.keeps = ctypes.c_void_p(), ctypes.c_void_p(), keep_graph
            self.memory, self.drawn = (), 0

        def instantiate(self):
            call("cuGraphInstantiateWithFlags", ctypes.byref(self.exec), self.graph, ctypes.c_uint64(0))

        def replay(self):
            generator.fill(self.memory, self.drawn)
            call("cuGraphLaunch", self.exec, Stream.now.handle)

        def raw_cuda_graph(self):
            return self.graph.value

    @contextlib.contextmanager
    def capture(graph, stream, capture_error_mode):
        assert capture_error_mode == "thread_local"
        with on(stream):
            generator.begin_capture()
            call("cuStreamBeginCapture_v2", stream.handle, 1)
            try:
                yield
            finally:
                call("cuStreamEndCapture", stream.handle, ctypes.byref(graph.graph))
                graph.memory, graph.drawn = generator.end_capture()
                num = ctypes.c_size_t()
                if graph.graph and (call("cuGraphGetNodes", graph.graph, None, ctypes.byref(num)), num.value == 0)[1]:
                    warnings.warn("The CUDA Graph is empty. This usually means that", stacklevel=1)
        if not graph.keeps:
            graph.instantiate()

    class TorchDispatchMode:
        def __enter__(self):
            modes.append(self)
            return self

        def __exit__(self, *failure):
            assert modes.pop() is self

    class Operation:
        """`schema`: names of the arguments, and ! behind those that it writes."""

        def __init__(self, name, schema, body, tags=()):
            self._name, self._body, self.tags = name, body, tags
            self._schema = types.SimpleNamespace(arguments=[types.SimpleNamespace(
                name=one.rstrip("!"), alias_info=types.SimpleNamespace(is_write=True) if one.endswith("!") else None)
                for one in schema.split()])

        def __str__(self):
            return self._name

        def __call__(self, *args, **kwargs):
            if not modes:
                return self._body(*args, **kwargs)
            mode = modes.pop()
            try:
                return mode.__torch_dispatch__(self, (), args, kwargs)
            finally:
                modes.append(mode)

    def launch(name, *words):
        words = [ctypes.c_uint64(word if isinstance(word, int) else word.data_ptr()) for word in words]
        args = (ctypes.c_void_p * len(words))(*(ctypes.addressof(word) for word in words))
        call("cuLaunchKernel", functions[name], 1, 1, 1, 1, 1, 1, 0, Stream.now.handle, args, None)

    def add(a, b):
        made = Tensor()
        launch("add", a, b, made)
        return made

    def by_hidden(a, b, hidden):
        made = Tensor()
        launch("into_hidden", a, b, hidden ^ HIDDEN)
        launch("from_hidden", hidden ^ HIDDEN, made)
        return made

    workspaces = {}  # by streams

    def mm(a, b):
        stream = Stream.now.cuda_stream
        if stream not in workspaces:
            workspaces[stream] = Tensor(2048)
        return by_hidden(a, b, workspaces[stream].data_ptr())

    def through(a, b):
        temporary = Tensor(1024)
        return by_hidden(a, b, temporary.data_ptr())

    @contextlib.contextmanager
    def infer():
        """Tensors that are made here are written only here."""
        inferences.append(1)
        try:
            yield
        finally:
            inferences.pop()

    generator = Generator(here, Tensor, lambda: bool(inferences))

    def rand(a, generator=generator):
        made = Tensor()
        if generator.drawn is None:
            made.set(generator.seed + generator.offset)
            generator.offset += STEP
        else:
            launch("draw", made, *generator.draw())
        return made

    def raise_(a):
        launch("raise", a, a)
        return a

    def norm(a, running_mean):
        launch("raise", running_mean, running_mean)
        return add(a, a)

    torch.Tensor, torch.strided, torch.uint8, torch.device = Tensor, strided, "uint8", lambda kind, index: Device(index)
    torch.empty, torch.mm, torch.float16 = lambda *sizes, dtype, device: Tensor(sizes[0]), mm, "float16"
    torch.Tag = types.SimpleNamespace(nondeterministic_seeded="seeded")
    torch.ops = types.SimpleNamespace(
        add=Operation("aten.add.Tensor", "self other", add),
        raise_=Operation("aten.raise_.default", "self!", raise_),
        mm=Operation("aten.mm.default", "self mat2", mm),
        through=Operation("aten.through.default", "self other", through),
        norm=Operation("aten.norm.default", "self running_mean", norm),
        rand=Operation("aten.rand_like.default", "self generator", rand, tags=("seeded",)),
        untagged=Operation("mine.rand.default", "self generator", rand),
        expand=Operation("aten.expand.default", "self size", Tensor.expand),
        attend=Operation("aten.attend.default", "self", lambda a: add(a, a), tags=("seeded",)),
        reduce=Operation("c10d.allreduce_.default", "tensors process_group", lambda tensors, group: raise_(tensors[0])),
        own=Operation("mine.add.default", "self other", add))
    torch.launch, torch.allocator, torch.workspaces, torch.functions = launch, allocator, workspaces, functions
    torch._C = types.SimpleNamespace(_cuda_clearCublasWorkspaces=workspaces.clear, _cuda_isHistoryEnabled=allocator.is_recording,
                                     _cuda_memorySnapshot=allocator.snapshot, _storage_Use_Count=storages.get)
    torch.inference_mode, torch.Generator = infer, Generator
    torch.cuda = types.SimpleNamespace(
        device=lambda device: contextlib.nullcontext(), Stream=Stream, stream=on, current_stream=lambda device=None: Stream.now,
        current_device=lambda: 0, CUDAGraph=CUDAGraph, Event=Event, graph=capture, memory_snapshot=lambda: [
            {"device": 0, "address": allocator.begin, "total_size": SEGMENT, "blocks": allocator.blocks()}],
        memory=types.SimpleNamespace(_record_memory_history=allocator.record),
        ExternalStream=Stream.external, MemPool=object, use_mem_pool=lambda pool, device: contextlib.nullcontext(),
        get_rng_state=lambda device: types.SimpleNamespace(tolist=lambda: [generator.seed, generator.offset]),
        default_generators=[generator])
    Stream.now = Stream()
    leaves = types.SimpleNamespace(
        tree_leaves=lambda value: list(value) if isinstance(value, (list, tuple)) else [value],
        tree_map=lambda function, value: list(map(function, value)) if isinstance(value, (list, tuple)) else function(value))
    return {"torch": torch, "torch.utils": types.SimpleNamespace(_pytree=leaves), "torch.utils._pytree": leaves,
            "torch.utils._python_dispatch": types.SimpleNamespace(TorchDispatchMode=TorchDispatchMode)}
