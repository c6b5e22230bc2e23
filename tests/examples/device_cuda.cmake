# cmake -D program=... -P device_cuda.cmake: on a GPU the columns come back as they were; without one, or without CUDA's toolkit when
# it was built, the program says so in one line, before it has read anything, and exits with 5.
execute_process(COMMAND ${program} --device cuda RESULT_VARIABLE result OUTPUT_VARIABLE stdout ERROR_VARIABLE stderr)
if(result EQUAL 0 AND stdout MATCHES "14 of 14 columns unchanged" AND stderr STREQUAL "")
    message(STATUS "on a GPU")
elseif(result EQUAL 5 AND stdout STREQUAL "" AND stderr MATCHES "^flights: --device cuda: [^\n]*(no device|built without CUDA)[^\n]*\n$")
    message(STATUS "${stderr}")
else()
    message(FATAL_ERROR "exit code ${result}\n--- stdout\n${stdout}\n--- stderr\n${stderr}")
endif()
