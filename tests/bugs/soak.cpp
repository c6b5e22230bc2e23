// The soak as one file with the sets that have names, for bugs that random steps find: ten seconds, by any seed.
#include <soak/main.cpp>
#include <soak/stage.cpp>
#include <soak/steps.cpp>
#include <soak/trouble.cpp>

#include <soak/sets/ready.cpp>
