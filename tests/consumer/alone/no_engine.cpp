// Of another target: it is not installed.
#include <allot/oom/arbiter.hpp>

int main() {}
