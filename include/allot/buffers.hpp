// Everything for buffers: accounts, buffers, reservations, value vectors, and units for their limits.
//
// The path of each call, one line per step, indented below its caller:
//
//   buffer_memory::allocate(account, bytes)        buffer_memory.hpp; raises out_of_memory
//     requested_view                               buffer_allocate.hpp; try_allocate() and allocate_for() begin here
//       new_view                                   one attempt
//         new_block                                the same; that of charged_blocks, which have no views
//           try_limits: account::try_hold, cancel  from 64 KiB on: asks the account before the source
//           block_source::take_cached, attempt     the source: row manager, chunk arena, on_stream, heap_memory
//           charge_block: account::try_charge      charges the whole block; refused: the source gets it back
//         view_of                                  makes the block's record and its first ledger
//           buffer_records::take                   104 bytes of host memory, from a free list per thread
//       block_source::climb                        refused: with the source's own steps (request/ladder.hpp)
//   buffer::slice                                  one atomic addition to the ledger's count of views
//   buffer::retain(account)                        buffer.hpp, buffer_transfer.hpp
//     retain_for                                   a view in the account's ledger, or a new ledger; block's lock
//   buffer::transfer(account)                      the same
//     relabel                                      if the ledger has this view only: it becomes that of the account
//     retain, transfer_charge                      else: a view in a second ledger, then the charge moves
//       begin_move, account::transfer, end_move    without the block's lock, since listeners are called
//   buffer::release, ~buffer                       buffer_block.hpp
//     release_view                                 one atomic subtraction; a sole view: end_sole_view, without lock
//       end_ledger                                 the account's last view; block's lock
//         next_charged                             the account that is charged next; begin_move, end_move as above
//         end_block                                after the last ledger
//           buffer_records::give                   the record
//           block_source::give, foreign_release    the memory is free first
//           account::refund                        then the account
#pragma once

#include <allot/account/account.hpp>
#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/buffer/bytes_vector.hpp>
#include <allot/buffer/on_stream.hpp>
#include <allot/buffer/value_vector.hpp>
#include <allot/core/units.hpp>
