"""Traces for the benches of device allocators, in the format of bench/gpu/trace.hpp; equal seeds give equal traces."""
import random

KIB, MIB = 1 << 10, 1 << 20


class Trace:
    def __init__(self):
        self.lines, self.ids = [], 0

    def allocate(self, size, stream=0, align=256):
        self.lines.append(f"a {self.ids} {size} {align} {stream}")
        self.ids += 1
        return self.ids - 1

    def free(self, block, stream=0):
        self.lines.append(f"f {block} {stream}")

    def wait(self, stream, other):
        self.lines.append(f"w {stream} {other}")


def size_of(rng, most=64 * MIB):
    """256 bytes to 64 MiB, log-uniform: many blocks are small, most bytes are in large ones."""
    return min(most, int(256 * 2 ** rng.uniform(0, 18)))


def one_stream(rng, n):
    t, live = Trace(), []
    while t.ids < n:
        if live and rng.random() < min(0.9, len(live) / 200):
            t.free(live.pop(rng.randrange(len(live))))
        else:
            live.append(t.allocate(size_of(rng)))
    for block in live:
        t.free(block)
    return t


def eight_streams(rng, n):
    """Independent streams that allocate in bursts, so that one could reuse the free memory of another."""
    t, live = Trace(), [[] for _ in range(8)]
    while t.ids < n:
        stream = rng.randrange(8)
        for _ in range(rng.randrange(1, 30)):
            if live[stream] and rng.random() < min(0.9, len(live[stream]) / 40):
                t.free(live[stream].pop(rng.randrange(len(live[stream]))), stream)
            else:
                live[stream].append(t.allocate(size_of(rng, 16 * MIB), stream))
    for stream, blocks in enumerate(live):
        for block in blocks:
            t.free(block, stream)
    return t


def producer_consumer(rng, n):
    """Blocks are allocated on one stream and freed on another, after a wait for the first."""
    t, queue = Trace(), []
    while t.ids < n:
        batch = [t.allocate(size_of(rng, 8 * MIB), 0) for _ in range(rng.randrange(1, 8))]
        t.wait(1, 0)
        queue.append(batch)
        if len(queue) > 6:
            for block in queue.pop(0):
                t.free(block, 1)
    for batch in queue:
        for block in batch:
            t.free(block, 1)
    return t


def growing_batch(rng, n):
    """Steps of training: layers are allocated forwards and freed backwards, and the batch grows a little each step."""
    t, step = Trace(), 0
    while t.ids < n:
        step += 1
        layers, workspace = [], None
        for layer in range(24):
            layers.append(t.allocate((128 + layer % 3 * 64) * KIB * (32 + step)))
            workspace = t.allocate(256 * KIB * (1 + layer % 4) + step * 512)
            t.free(workspace)
        for block in reversed(layers):
            gradient = t.allocate(512 * KIB * (1 + rng.randrange(3)))
            t.free(block)
            t.free(gradient)
    return t


def cache_append(rng, n):
    """Caches of sequences that grow by a half when full: a new block is allocated, then the old one is freed."""
    t, sequences = Trace(), {}
    while t.ids < n:
        key = rng.randrange(32)
        if key not in sequences:
            sequences[key] = (t.allocate(256 * KIB), 256 * KIB)
        elif rng.random() < 0.12:
            t.free(sequences.pop(key)[0])
        else:
            block, size = sequences[key]
            size = min(size * 3 // 2 // 256 * 256, 48 * MIB)
            sequences[key] = (t.allocate(size), size)
            t.free(block)
    for block, _ in sequences.values():
        t.free(block)
    return t


KINDS = (one_stream, eight_streams, producer_consumer, growing_batch, cache_append)


def write_all(folder, n, seed=1):
    """Writes a trace of each kind with about n allocations; returns the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for kind in KINDS:
        trace = kind(random.Random(f"{seed} {kind.__name__}"), n)
        about = " ".join((kind.__doc__ or "Random sizes and lifetimes on one stream.").split())
        path = folder / f"{kind.__name__}.trace"
        path.write_text(f"# {about}\n" + "\n".join(trace.lines) + "\n", encoding="utf-8")
        paths.append(path)
    return paths
