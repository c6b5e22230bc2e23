// allot_instructions: the program that bench/instructions.py runs under callgrind; see counted/count.hpp.
#include <counted/count.hpp>

int main() {
    counted::rows();
    counted::ways();
    counted::chunks();
    counted::accounts();
    counted::packets();
    counted::faces();
    counted::cold();
    counted::device();
}
