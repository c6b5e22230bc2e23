// allot_instructions: what bench/instructions.py counts under callgrind; see counted/count.hpp.
#include <counted/count.hpp>

int main() {
    counted::rows();
    counted::chunks();
    counted::accounts();
}
