// The faces of CUDA's libraries as nvcc compiles them: the tests of cuda::mr, and Thrust's resource made for its CUDA
// system.
#include <allot/adapt/thrust_mr.hpp>

#include "memory_resource.cpp"

template class allot::adapt::thrust_mr<simulated_memory>;
