# cmake -D program=... -D set=... [-D device=...] -P every_limit.cmake: from too small to enough, only the exit codes 12 and 0 are
# seen, first the one and then the other; under 12 there is a page and no answer. Sanitizers, where on, see every way out.
# With a device the limit is the device's.
set(limits 64K 256K 512K 1M 1536K 2M 2560K 3M 3584K 4M 5M 6M 7M 8M 10M 12M 16M 24M 64M)
set(limited --memory)
set(page "^out of memory")
if(device)
    set(limits 1K 32K 64K 128K 192K 256K 320K 512K 640K 768K 896K 1M 2M 64M)
    set(limited --device ${device} --device-memory)
    set(page "^out of device memory")
endif()
set(enough FALSE)
foreach(limit IN LISTS limits)
    execute_process(COMMAND ${program} ${limited} ${limit} --threads 2 --set ${set}
        RESULT_VARIABLE result OUTPUT_VARIABLE stdout ERROR_VARIABLE stderr)
    if(result EQUAL 0 AND stdout MATCHES "afterwards: 0 rows" AND stderr STREQUAL "")
        set(enough TRUE)
    elseif(result EQUAL 12 AND NOT enough AND stdout STREQUAL "" AND stderr MATCHES "${page}"
           AND NOT stderr MATCHES "leak")
        message(STATUS "${limit} is too small")
    else()
        message(FATAL_ERROR "${limit}: exit code ${result}\n--- stdout\n${stdout}\n--- stderr\n${stderr}")
    endif()
endforeach()
if(NOT enough)
    message(FATAL_ERROR "64M was not enough")
endif()
