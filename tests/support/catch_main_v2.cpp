// The main() of a test program where only Catch2 v2 is to be had: v3 brings its own as a library.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
