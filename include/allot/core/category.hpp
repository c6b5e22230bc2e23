// All categories: one file each, with contract, fallback, declarations and simple answers.
#pragma once

#include <allot/core/category/count.hpp>
#include <allot/core/category/fit.hpp>
#include <allot/core/category/guard.hpp>
#include <allot/core/category/heap.hpp>
#include <allot/core/category/ledger.hpp>
#include <allot/core/category/oom.hpp>
#include <allot/core/category/order.hpp>
#include <allot/core/category/page.hpp>
#include <allot/core/category/refill.hpp>
#include <allot/core/category/retain.hpp>
#include <allot/core/category/size.hpp>
#include <allot/core/category/slots.hpp>
#include <allot/core/category/spill.hpp>
#include <allot/core/category/watch.hpp>
