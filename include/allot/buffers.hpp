// Everything for buffers: accounts, buffers, reservations, value vectors, and units for their limits.
#pragma once

#include <allot/buffer/buffer.hpp>
#include <allot/buffer/buffer_memory.hpp>
#include <allot/buffer/buffer_reservation.hpp>
#include <allot/buffer/bytes_vector.hpp>
#include <allot/buffer/on_stream.hpp>
#include <allot/buffer/value_vector.hpp>
#include <allot/core/units.hpp>
#include <allot/ledger/account.hpp>
