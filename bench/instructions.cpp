// allot_instructions: the program that bench/instructions.py runs under callgrind; see counted/count.hpp.
#include <counted/count.hpp>

int main() {
    counted::device(); // first: a machine's memory, which has no room after the arenas of the others under valgrind
    counted::rows();
    counted::ways();
    counted::chunks();
    counted::accounts();
    counted::packets();
    counted::faces();
    counted::cold();
}
