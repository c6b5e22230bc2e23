# What the flights example must do, as tests of ctest under the label "example". Included by examples/flights.
set(flights_tests ${PROJECT_SOURCE_DIR}/tests/examples)
set(flights_expected ${PROJECT_SOURCE_DIR}/examples/flights/expected)

include(${flights_tests}/program_test.cmake)
allot_program_file(flights flights_file)

# The short run of the tests has some of the sets, threads and limits where others have all.
set(flights_some_sets ${flights_sets})
set(flights_task_sets roxie thor per_thread)
set(flights_extent ${ALLOT_TEST_EXTENT})
if(CMAKE_CROSSCOMPILING)
    set(flights_extent short) # an emulator is slow
endif()
if(flights_extent STREQUAL "short")
    set(flights_some_sets roxie exact)
    set(flights_task_sets roxie)
endif()

# flights_limits_test(name arguments...) - every_limit.cmake with these
function(flights_limits_test name)
    add_test(NAME example.flights.${name} COMMAND ${CMAKE_COMMAND} -D program=${flights_file} -D extent=${flights_extent}
        ${ARGN} -P ${flights_tests}/every_limit.cmake)
    set_tests_properties(example.flights.${name} PROPERTIES LABELS example TIMEOUT 900)
endfunction()

# The answers are DuckDB's, whatever the set and the number of threads; in the end no row is left.
foreach(set IN LISTS flights_sets)
    set(threads 2)
    if(set IN_LIST flights_some_sets)
        list(APPEND threads 1 4)
    endif()
    foreach(n IN LISTS threads)
        program_test(flights answers.${set}.${n}
            OUT "5 of 5 answers equal" "afterwards: 0 rows, charged 0 B"
            ARGS --set ${set} --threads ${n} --check ${flights_expected})
    endforeach()
    program_test(flights too_small.${set} CODE 12 ERR "out of memory" "limit" ARGS --set ${set} --threads 2 --memory 1M)
    program_test(flights describe.${set} OUT "[a-z]" ARGS --set ${set} --describe)
endforeach()

# A difference is found: the answers of the month, held against files in which one number was changed.
program_test(flights wrong_answer CODE 4
    OUT "0 of 1 answers equal" ERR "months.csv:3: expected \"JFK,2013,1,9162,100,1.09\", got \"JFK,2013,1,9161,100,1.09\""
    ARGS --query months --check ${flights_tests}/wrong)

# Lines that are not flights are counted and told, the others are read.
program_test(flights bad_lines
    OUT "\"rows\": 11," "\"bad_lines\": 10," "New, ..Old...nAirline"
    ERR "flights.csv: 10 bad lines skipped"
        "line 4: not as many fields" "line 5: dep_delay: not a number" "line 6: year: a number out of range"
        "line 10: text after a closing quote" "line 11: a quote inside an unquoted field"
    ARGS --threads 2 --json --query carriers
        --flights ${flights_tests}/tricky/flights.csv --airlines ${flights_tests}/tricky/airlines.csv)
program_test(flights bad_lines_answers
    OUT "2 of 2 answers equal" ERR "10 bad lines"
    ARGS --query carriers --query sorted --check ${flights_tests}/tricky/expected
        --flights ${flights_tests}/tricky/flights.csv --airlines ${flights_tests}/tricky/airlines.csv)

# Files that are no such table, and command lines that are none.
program_test(flights no_file CODE 3 ERR "nowhere.csv: No such file" ARGS --flights nowhere.csv)
program_test(flights no_column CODE 3 ERR "no column \"month\"" ARGS --flights ${PROJECT_SOURCE_DIR}/examples/data/planes.csv
    --planes ${PROJECT_SOURCE_DIR}/examples/data/airlines.csv)
program_test(flights directory CODE 3 ERR "Is a directory" ARGS --flights ${flights_tests})
program_test(flights usage CODE 2 ERR "--memory" ARGS --memory much)
program_test(flights help OUT "12 out of memory" ARGS --help)

# A page: row managers are those after reading. Too little memory: the accounts and the report.
set(flights_page ${CMAKE_CURRENT_BINARY_DIR}/flights.html)
program_test(flights html OUT "5 of 5 answers equal" ARGS --threads 2 --html ${flights_page})
page_test(flights html ${flights_page} peak accounts timeline rows pages chunks "\"manager\":\"load/read/flights\"")
program_test(flights html_too_small CODE 12 ERR "^out of memory" ARGS --threads 2 --memory 1M --html ${flights_page}.small)
page_test(flights html_too_small ${flights_page}.small peak accounts timeline "<h2>Out of memory</h2>\n<pre>\nout of memory: ")
program_test(flights no_html CODE 1 ERR "^flights: --html: /nowhere/f.html: No such file" ARGS --html /nowhere/f.html)
program_test(flights html_lost CODE 1 BLOCKS 68 OUT "5 of 5 answers equal" ERR "^flights: --html: [^\n]*lost.html: File too large" ARGS --html ${CMAKE_CURRENT_BINARY_DIR}/lost.html)

# At every limit the job either ends well or tells that memory was out.
foreach(set IN ITEMS roxie out_of_band)
    flights_limits_test(every_limit.${set} -D set=${set})
endforeach()

# What is kept for later rounds is given up where it would be too much; the answers are the same.
program_test(flights rounds.enough
    OUT "3 rounds, the files read in 1 of them" "pieces of files +1 +23 +0 +0 +0 B +0 " "answers +2 +5 +10 +0 +0 B +0 "
        "5 of 5 answers equal" "afterwards: 0 rows, charged 0 B"
    ARGS --rounds 3 --memory 64M)
foreach(set IN LISTS flights_some_sets)
    program_test(flights rounds.short.${set}
        OUT "3 rounds, the files read in [1-3] of them" "pieces of files +1 +[0-9]+ +[0-9]+ +[1-9][0-9]* +[0-9]+ KiB +[1-9]"
            "5 of 5 answers equal" "limit 7168 KiB" "afterwards: 0 rows, charged 0 B"
        ARGS --set ${set} --threads 2 --rounds 3 --memory 7M)
endforeach()
program_test(flights rounds.json OUT "\"rounds\": {\n    \"rounds\": 2," "\"what\": \"pieces of files\"," "\"given_up\": [0-9]+," ARGS --rounds 2 --json --memory 8M)
program_test(flights rounds.pipe CODE 3 ERR "/dev/null: no regular file, so it cannot be read in every round" ARGS --rounds 2 --flights /dev/null)
program_test(flights rounds.none CODE 2 ERR "--rounds" ARGS --rounds 0)
flights_limits_test(rounds.every_limit -D set=roxie -D rounds=3)

# With --spill it leaves for a file in place of being given up, and comes back where the files are read again; what cannot leave is given up as before.
foreach(set IN LISTS flights_some_sets)
    program_test(flights spill.short.${set} SPILL
        OUT "3 rounds, the files read in 1 of them" "pieces of files +1 +[0-9]+ +[0-9]+ +0 +[0-9]+ KiB +[1-9].* ms +[1-9][0-9]* +[0-9]+ KiB +0\n"
            "answers +2 +5 +10 +0 " "KiB written by [1-9][0-9]* calls, [0-9]+ [K]?i?B read by [0-9]+ calls; at most [0-9]+ KiB on disk\n"
            "5 of 5 answers equal" "limit 7168 KiB" "afterwards: 0 rows, charged 0 B"
        ARGS --set ${set} --threads 2 --rounds 3 --memory 7M)
endforeach()
program_test(flights spill.back SPILL CODE 12
    OUT "4 rounds, the files read in 4 of them" "pieces of files +1 +23 +69 +0 .* ms +[1-9][0-9]* +[0-9]+ KiB +[1-9]" "4 of 4 answers equal"
        "KiB read by [1-9][0-9]* calls" "\n  disk: [0-9.]+ [KM]iB used, peak "
    ERR "operator delays/join is refused"
    ARGS --threads 1 --rounds 4 --memory 7M --explain-memory --operator-limit delays/join=300K)
program_test(flights spill.full SPILL FULL
    OUT "3 rounds, the files read in [1-3] of them" "pieces of files +1 +[0-9]+ +[0-9]+ +[1-9].* ms +0 +0 B +0\n" "5 of 5 answers equal"
        ": 0 B written by [0-9]+ calls" "  [1-9][0-9]* failures, the last: allot: disk: failed: write [^\n]*: File too large" "afterwards: 0 rows, charged 0 B"
    ARGS --threads 2 --rounds 3 --memory 7M)
program_test(flights spill.json SPILL OUT "\"given_up\": 0," "\"left\": [1-9]" "\"came_back\": 0," "\"spill\": {\n      \"directory\": " "\"write_calls\": [1-9]" "\"failures\": 0,"
    ARGS --rounds 2 --json --memory 7M)
program_test(flights spill.missing CODE 3 ERR "^flights: --spill: allot: spill files: failed: open nowhere: No such file or directory .errno 2.\n$" ARGS --rounds 2 --spill nowhere)
program_test(flights spill.rounds CODE 2 ERR "--spill requires --rounds" ARGS --spill .)
flights_limits_test(spill.every_limit -D set=roxie -D rounds=3 -D spill=${CMAKE_CURRENT_BINARY_DIR})

# Queries at once, in too little memory: under 3.5 MiB each has to take its flights in shares. Their answers are those of each alone.
foreach(set IN LISTS flights_task_sets)
    program_test(flights tasks.${set}
        OUT "6 queries at once: 6 of their answers equal those alone" "\n +1 +carriers +[1-9][0-9]* +[1-9]" "\n +6 +carriers +[1-9][0-9]* +[1-9]"
            "5 of 5 answers equal" "limit 3584 KiB" "afterwards: 0 rows, charged 0 B"
        ARGS --set ${set} --tasks 6 --memory 3584K)
endforeach()
program_test(flights tasks.enough OUT "2 queries at once: 2 of their answers equal those alone" "\n +1 +months +0 +0 " "\n +2 +months +0 +0 " ARGS --tasks 2 --memory 64M --query months)
program_test(flights tasks.bad_lines OUT "4 queries at once: 4 of their answers equal those alone" "2 of 2 answers equal" ERR "flights.csv: 10 bad lines skipped"
    ARGS --tasks 4 --query carriers --query sorted --check ${flights_tests}/tricky/expected
        --flights ${flights_tests}/tricky/flights.csv --airlines ${flights_tests}/tricky/airlines.csv)
program_test(flights tasks.threshold ERR "^(tasks: |$)" OUT "6 queries at once: 6 of their answers equal those alone" "\n +1 +[a-z]+ +0 +0 " "\n +6 +[a-z]+ +0 +0 "
    ARGS --tasks 6 --threads 2 --memory 8M --threshold 90)
program_test(flights tasks.threshold_too_small ERR "^(tasks: |$)" OUT "6 queries at once: 6 of their answers equal those alone"
    ARGS --tasks 6 --threads 3 --memory 4M --threshold 80)
program_test(flights tasks.threshold_alone CODE 2 ERR "--tasks" ARGS --threshold 90)
program_test(flights tasks.json OUT "\"tasks\": .\n    {\n      \"query\": \"delays\",\n      \"equal\": true,\n      \"rollbacks\": [0-9]+," ARGS --tasks 2 --json --memory 6M --query delays)
program_test(flights tasks.rounds CODE 2 ERR "--tasks" ARGS --tasks 2 --rounds 2)
program_test(flights tasks.device CODE 2 ERR "--tasks" ARGS --tasks 2 --device simulated)
program_test(flights tasks.none CODE 2 ERR "--tasks" ARGS --tasks 0)
flights_limits_test(tasks.every_limit -D set=roxie -D tasks=4)

# Rows that are not needed any more are dropped, the others moved into fewer pages; the answers are the same.
foreach(set IN LISTS flights_some_sets)
    program_test(flights compact.${set}
        OUT "the others moved from [0-9]+ pages into [0-9]+\n" "\n  load/read/flights +27,004 +0 " "\n  load/read/airlines +16 +0 " "\n  load/read/planes +3,322 +713 "
            "\n  load/read/airports +1,458 +1,365 " "\n  delays/join/pairs +26,483 +26,463 +[1-9][0-9]* +[1-9][0-9]* +1 +[1-9][0-9]* KiB\n"
            "5 of 5 answers equal" "afterwards: 0 rows, charged 0 B"
        ARGS --set ${set} --threads 2 --compact --check ${flights_expected})
endforeach()
program_test(flights compact.tables OUT "\n  load/read/flights +27,004 +521 " "\n  load/read/planes +3,322 +717 " "\n  load/read/airlines +16 +16 +0 " "\n  load/read/airports +1,458 +1,458 +0 " "1 of 1 answers equal"
    ARGS --compact --query delays)
program_test(flights compact.json OUT "\"compacted\": .\n    {\n      \"of\": \"load/read/flights\",\n      \"rows\": 27004,\n      \"dropped\": 0,\n      \"moved\": [0-9]+,\n      \"pages_before\": [0-9]+,\n      \"pages_after\": [0-9]+,\n      \"bytes_returned\": [0-9]+\n"
    ARGS --compact --json)
program_test(flights compact.rounds OUT "3 rounds, the files read in [1-3] of them" "\n  load/read/airports +1,458 +1,365 " "5 of 5 answers equal" ARGS --compact --rounds 3 --threads 2 --memory 8M)
program_test(flights compact.device OUT "14 of 14 columns unchanged; [0-9]+ events, [0-9]+ waits, 0 hazards" "14 columns of 26,483 flights" "1 of 1 answers equal"
    ARGS --compact --device simulated --query delays)
program_test(flights compact.bad_lines OUT "2 of 2 answers equal" ERR "10 bad lines"
    ARGS --compact --query carriers --query sorted --check ${flights_tests}/tricky/expected
        --flights ${flights_tests}/tricky/flights.csv --airlines ${flights_tests}/tricky/airlines.csv)
program_test(flights compact.tasks CODE 2 ERR "--tasks" ARGS --tasks 2 --compact)
program_test(flights compact.help OUT "--compact" ARGS --help)
flights_limits_test(compact.every_limit -D set=roxie -D compact=ON)

# With a device: all that was copied there comes back as it was, in the order of streams, under the device's limit.
foreach(set IN ITEMS roxie thor out_of_band)
    program_test(flights device.${set}
        OUT "5 of 5 answers equal" "14 columns of 27,004 flights" "0 chunks dropped" "14 of 14 columns unchanged; [0-9]+ events, [0-9]+ waits, 0 hazards"
            "device allocator flights .set flights::column_memory<allot::device::simulated>. on device 0" "limit 4 MiB, charged " "live 804352 bytes in 266 blocks"
            "afterwards: 0 blocks live" "afterwards: 0 rows, charged 0 B"
        ARGS --set ${set} --threads 2 --device simulated --check ${flights_expected})
endforeach()
program_test(flights device.small OUT "[1-9][0-9]* chunks dropped" "14 of 14 columns unchanged; [1-9][0-9]* events, [1-9][0-9]* waits, 0 hazards" "limit 192 KiB, charged 192 KiB"
    ARGS --device simulated --device-memory 192K)
program_test(flights device.too_small CODE 12
    ERR "^out of device memory: [0-9]+ bytes aligned to 256 bytes refused: over the limit: flights uses 0 bytes of [0-9]+ KiB. the request needs [0-9]+ KiB\ndevice allocator flights" "limit 16 KiB, charged 0 bytes"
    ARGS --device simulated --device-memory 16K)
program_test(flights device.json OUT "\"device\": {" "\"equal_columns\": 14," "\"dropped\": 0," "\"hazards\": 0," "\"allocator\": \"flights\"," "\"live_blocks\": 266,"
    ARGS --device simulated --json)
program_test(flights device.none OUT "5 of 5 answers equal" ARGS --device none)
program_test(flights device.unknown CODE 2 ERR "--device: gpu not in {none,simulated,cuda}" ARGS --device gpu)
program_test(flights device.no_size CODE 2 ERR "--device-memory" ARGS --device simulated --device-memory little)
flights_limits_test(device.every_limit -D set=roxie -D device=simulated)
add_test(NAME example.flights.device.cuda COMMAND ${CMAKE_COMMAND}
    -D program=${flights_file} -D name=flights -D "right=14 of 14 columns unchanged" -P ${flights_tests}/device_cuda.cmake)
set_tests_properties(example.flights.device.cuda PROPERTIES LABELS example TIMEOUT 900)

# Who held the memory, at the peak: text and JSON. In numbers, and that limits of operators hold: accounts.py.
foreach(set IN ITEMS roxie thor out_of_band)
    program_test(flights explain.${set}
        OUT "Memory by account: accounts of flights at the peak\n  flights: [0-9.]+ [KM]iB used of 16 MiB, peak "
            "\n    delays: " "\n      delays/join: [0-9.]+ [KM]iB used, peak " "\n        delays/join/pairs: " "\n      delays/sort: "
            "\n    load: " "\n      load/read: " "\n        load/read/flights: [0-9.]+ MiB used" "afterwards: 0 rows, charged 0 B"
        ARGS --set ${set} --threads 2 --explain-memory)
endforeach()
program_test(flights explain.device OUT "\n      device/copy: [0-9]+ KiB used" ARGS --explain-memory --device simulated --rows 1)
program_test(flights explain.json OUT "\"accounts_at_peak\": {" "\"name\": \"load/read\"," "\"reservation\": 0," "\"own\": " ARGS --explain-memory --json)

# An operator's limit: the page names the operator and who holds the memory; the other queries are answered.
program_test(flights operator.refused CODE 12
    OUT "No answer: delays/join is refused [0-9]+ KiB; it uses [0-9]+ KiB of 300 KiB" "4 of 4 answers equal" "afterwards: 0 rows, charged 0 B"
    ERR "^out of memory: operator delays/join is refused [0-9]+ KiB: it uses [0-9]+ KiB of 300 KiB\n" "row manager delays/join/[a-z]+ "
        "accounts of flights: [0-9.]+ [KM]iB used of 16 MiB, peak [0-9.]+ [KM]iB; largest holders:\n    load / load/read / load/read/flights: [0-9.]+ MiB charged"
        "    delays / delays/join / delays/join/[a-z]+: [0-9]+ KiB charged"
    ARGS --threads 2 --operator-limit delays/join=300K)
program_test(flights operator.json CODE 12 OUT "\"refused\": .\n    {\n      \"operator\": \"sorted/sort\",\n      \"requested\": [0-9]+,\n      \"used\": [0-9]+,\n      \"limit\": 102400\n"
    ERR "operator sorted/sort is refused" ARGS --json --operator-limit sorted/sort=100K)
program_test(flights operator.reader CODE 12 ERR "^out of memory: operator load/read is refused [0-9]+ KiB: it uses [0-9.]+ [KM]iB of 1 MiB\n" "load/read/blocks: [0-9]+ KiB charged"
    ARGS --threads 2 --operator-limit read=1M)
program_test(flights operator.blocks CODE 12 ERR "^out of memory: operator load/read is refused 128 KiB: it uses 0 bytes of 100 KiB\n" "out of memory: a buffer of 128 KiB for account load / load/read / load/read/blocks: over the limit: account load/read uses 0 bytes of 100 KiB"
    ARGS --operator-limit read=100K)
program_test(flights operator.device CODE 12 ERR "^out of memory: operator device/copy is refused" ARGS --device simulated --operator-limit copy=1K)
# Rows of the one thread, or a buffer of the other: whoever comes first to the limit.
program_test(flights operator.whole CODE 12
    ERR "^out of memory: ([0-9]+ bytes for [a-z]+ refused|a buffer of [0-9]+ KiB for account load / load/read / load/read/[a-z]+): over the limit: account flights uses [0-9.]+ MiB of 4 MiB(. the request needs [0-9]+ KiB)?\n"
    ARGS --memory 4M --operator-limit join=16M --threads 2)
program_test(flights operator.enough OUT "5 of 5 answers equal" ARGS --threads 2 --operator-limit join=2M --operator-limit group=1M --operator-limit read=8M)
program_test(flights operator.unknown CODE 2
    ERR "--operator-limit: no operator \"jion\"; use one of read, load/read, join, carriers/join, group, .*sorted/sort, copy, device/copy\n"
    ARGS --operator-limit jion=1M)
program_test(flights operator.no_size CODE 2 ERR "--operator-limit" ARGS --operator-limit join=much)
program_test(flights operator.no_name CODE 2 ERR "--operator-limit: join: not NAME=SIZE" ARGS --operator-limit join)
program_test(flights operator.help OUT "--operator-limit NAME=SIZE" "--explain-memory" ARGS --help)
find_package(Python3 COMPONENTS Interpreter QUIET)
foreach(check IN ITEMS sums growth limits resident)
    # The memory of a sanitizer or an emulator is resident, too.
    if(Python3_FOUND AND NOT (check STREQUAL "resident" AND (ALLOT_SANITIZE OR CMAKE_CROSSCOMPILING)))
        add_test(NAME example.flights.accounts.${check} COMMAND ${Python3_EXECUTABLE} ${flights_tests}/accounts.py ${flights_file} ${check})
        set_tests_properties(example.flights.accounts.${check} PROPERTIES LABELS example TIMEOUT 900
            ENVIRONMENT "ALLOT_TEST_EXTENT=${flights_extent}")
    endif()
endforeach()

# The month eight times over, 216,032 flights, read from a file that is made here.
add_test(NAME example.flights.larger COMMAND ${CMAKE_COMMAND}
    -D program=${flights_file} -D data=${PROJECT_SOURCE_DIR}/examples/data
    -D work=${CMAKE_CURRENT_BINARY_DIR} -P ${flights_tests}/larger.cmake)
set_tests_properties(example.flights.larger PROPERTIES LABELS example TIMEOUT 900)

# How the reader cuts a file into blocks, against a reader of one character at a time.
add_executable(flights_csv_blocks ${flights_tests}/csv_blocks.cpp csv.cpp csv_file.cpp kept.cpp progress.cpp)
allot_program(flights_csv_blocks)
allot_links_compiled(flights_csv_blocks)
set_target_properties(flights_csv_blocks PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
target_include_directories(flights_csv_blocks PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(flights_csv_blocks PRIVATE fmt::fmt)
add_test(NAME example.flights.csv_blocks COMMAND flights_csv_blocks ${CMAKE_CURRENT_BINARY_DIR}/csv_blocks.csv)
set_tests_properties(example.flights.csv_blocks PROPERTIES LABELS example TIMEOUT 900)
allot_wait_longer()
