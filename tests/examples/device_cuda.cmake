# cmake -D program=... -D name=... -D "args=a@@b" -D right=regex -P device_cuda.cmake: on a GPU the program prints what is right; without
# one, or if CUDA was not found when it was built, it says so in one line, before it has done anything, and exits with 5.
string(REPLACE "@@" ";" args "${args}")
execute_process(COMMAND ${program} --device cuda ${args} RESULT_VARIABLE result OUTPUT_VARIABLE stdout ERROR_VARIABLE stderr)
if(result EQUAL 0 AND stdout MATCHES "${right}" AND stderr STREQUAL "")
    message(STATUS "on a GPU")
elseif(result EQUAL 5 AND stdout STREQUAL "" AND stderr MATCHES "^${name}: --device cuda: [^\n]*(no device|built without CUDA)[^\n]*\n$")
    message(STATUS "${stderr}")
else()
    message(FATAL_ERROR "exit code ${result}\n--- stdout\n${stdout}\n--- stderr\n${stderr}")
endif()
