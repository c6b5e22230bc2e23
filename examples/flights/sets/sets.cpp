#include "../sets.hpp"

namespace flights {

// Each is defined in the file with its name.
namespace sets {
extern const set_entry roxie, thor, fine, packed, exact, out_of_band, per_thread;
}

std::span<const set_entry> all_sets() {
    static const set_entry list[] = {sets::roxie, sets::thor,        sets::fine,      sets::packed,
                                     sets::exact, sets::out_of_band, sets::per_thread};
    return list;
}

} // namespace flights
