// Umbrella header of the target `allot_engine`: tasks that share too little memory (an arbiter, an executor, quotas),
// data that leave memory for a home, received rows, channels, and the ready set for Spark's rows. It needs the target
// `allot`.
#pragma once

#include <allot/channel/channels.hpp>
#include <allot/ledger/split.hpp>
#include <allot/oom/arbiter.hpp>
#include <allot/oom/held_outside.hpp>
#include <allot/oom/injection.hpp>
#include <allot/oom/retry.hpp>
#include <allot/oom/scoped_wait.hpp>
#include <allot/oom/state_machine.hpp>
#include <allot/packet/frames.hpp>
#include <allot/packet/packets.hpp>
#include <allot/spill/spill_memory.hpp>
#include <allot/spill/store.hpp>
#include <allot/spill/store/spill_files.hpp>
#include <allot/spill/stored_buffer.hpp>
#include <allot/spill/stored_rows.hpp>
#include <allot/spill/stored_vector.hpp>
#include <allot/task/executor.hpp>
#include <allot/task/operand_graph.hpp>
#include <allot/task/quota.hpp>
#include <allot/task/task_cache.hpp>
#include <allot/use/spark.hpp>
