"""A fake torch for the rehearsal, with the calls of bench/gpu/torch_replay.py: it counts addresses and measures nothing."""


class Stream:
    def wait_stream(self, other):
        assert isinstance(other, Stream)


class cuda:
    Stream = Stream
    OutOfMemoryError = MemoryError
    live, next = {}, 256

    @staticmethod
    def is_available():
        return True

    @staticmethod
    def init():
        pass

    current_device = synchronize = empty_cache = init

    @classmethod
    def mem_get_info(cls):
        return (1 << 40) - sum(cls.live.values()), 1 << 40

    @classmethod
    def caching_allocator_alloc(cls, size, device, stream):
        assert size > 0 and device == 0 and isinstance(stream, Stream)
        if size > 1 << 30:
            raise MemoryError
        cls.next += size
        cls.live[cls.next] = size
        return cls.next

    @classmethod
    def caching_allocator_delete(cls, block):
        del cls.live[block]
