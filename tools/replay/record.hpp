// Programs that are recorded, for the recordings in recordings/.
#pragma once

#include <allot/watch/recording.hpp>

#include <string>

namespace record {

void flights_rows(allot::recording& to, const std::string& folder);
/// Throws: std::runtime_error if SQLite reports an error, or was not found when this was built.
void sqlite(allot::recording& to, int rows);

} // namespace record
