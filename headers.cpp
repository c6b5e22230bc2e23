#include <allot/device_rows.hpp>
