# The tests of the tpch example, under the label "example". Included by examples/tpch. Data of scale 0.001 as text, and in
# Parquet where that can be made (tpch.cmake).
set(tpch_answers ${PROJECT_SOURCE_DIR}/examples/tpch/expected)
include(${PROJECT_SOURCE_DIR}/tests/examples/program_test.cmake)
set(tpch_text --data ${PROJECT_SOURCE_DIR}/examples/tpch/data/sf0.001 --expected ${tpch_answers}/sf0.001.json)
program_test(tpch text OUT "6 queries.*0 tasks began again" ARGS ${tpch_text} --memory 16MiB --tasks 4)
# What leaves memory, waits and is split depends on which thread comes first, so one thread runs four tasks, far below what they want.
set(tpch_squeezed ${tpch_text} --memory 800KiB --threads 1 --tasks 4)
program_test(tpch little_memory SPILL OUT "\"written\":[1-9]" ARGS ${tpch_squeezed} --json)
program_test(tpch one_thread SPILL OUT "6 queries" ARGS ${tpch_text} --memory 1MiB --threads 1 --compare)
# Scans and a join that work on parts of their rows, alone.
program_test(tpch splits SPILL OUT "\"query\":\"sort\",\"right\":true,[^}]*\"splits\":[1-9]" "\"query\":\"join\",\"right\":true,[^}]*\"splits\":[1-9]"
    ARGS ${tpch_squeezed} --json)
program_test(tpch raise CODE 12 OUT "q1 .*right" ERR "sort: [^\n]*\nout of memory: .*account memory uses" "    sort: .*[0-9] buffers"
    ARGS ${tpch_text} --query sort,q1 --memory 1000KiB --threads 1 --oom raise --spill none)
program_test(tpch too_little CODE 12 ERR "reader of warm up.*account memory uses" ARGS ${tpch_text} --memory 100KiB)
program_test(tpch no_data CODE 3 ERR "no lineitem.parquet and no lineitem.tbl" ARGS --data /nowhere)
program_test(tpch no_spill_folder CODE 3 ERR "--spill: .*No such file" ARGS ${tpch_text} --spill /nowhere/at/all)
# No file can be written: what does not fit ends its query, the others go on.
program_test(tpch disk_full CODE 12 SPILL FULL OUT "q1 .*right" "sort .*out of memory" ERR "sort: .*File too large" "account memory uses"
    ARGS ${tpch_text} --query sort,q1 --memory 900K --threads 1)
program_test(tpch trace OUT "6 queries" ARGS ${tpch_text} --memory 1MiB --tasks 4 --trace ${CMAKE_CURRENT_BINARY_DIR}/trace.json)
program_test(tpch no_trace CODE 3 ERR "--trace: /nowhere/t.json: No such file" ARGS ${tpch_text} --trace /nowhere/t.json)
program_test(tpch html SPILL OUT "6 queries" ARGS ${tpch_squeezed} --html ${CMAKE_CURRENT_BINARY_DIR}/tpch.html)
page_test(tpch html ${CMAKE_CURRENT_BINARY_DIR}/tpch.html peak accounts timeline chunks "\"kind\":\"wait\"" "\"kind\":\"spill\"")
program_test(tpch html_too_little CODE 12 SPILL ERR "warm up: [^\n]*out of memory" "\naccounts of memory\n" ARGS ${tpch_text} --memory 500KiB --tasks 4 --oom raise --html ${CMAKE_CURRENT_BINARY_DIR}/little.html)
page_test(tpch html_too_little ${CMAKE_CURRENT_BINARY_DIR}/little.html "<h2>Out of memory</h2>\n<pre>\nout of memory: ")
program_test(tpch no_html CODE 1 ERR "^tpch: --html: /nowhere/t.html: No such file" ARGS ${tpch_text} --html /nowhere/t.html)
program_test(tpch html_lost CODE 1 BLOCKS 68 OUT "q1 .*right" ERR "^tpch: --html: [^\n]*lost.html: File too large" ARGS ${tpch_text} --query q1 --spill none --html ${CMAKE_CURRENT_BINARY_DIR}/lost.html)
program_test(tpch record OUT "6 queries" ARGS ${tpch_text} --memory 1MiB --tasks 4 --record ${CMAKE_CURRENT_BINARY_DIR}/tpch.allot)
program_test(tpch no_record CODE 3 ERR "--record: /nowhere/t: No such file" ARGS ${tpch_text} --query q1 --record /nowhere/t)
program_test(tpch no_answers CODE 3 ERR "README.md: no JSON object with the answer of q1" ARGS --data ${PROJECT_SOURCE_DIR}/examples/tpch/data/sf0.001 --expected ${PROJECT_SOURCE_DIR}/README.md)
program_test(tpch other_answers CODE 3 ERR "other.json: no JSON object with the answer of q1" ARGS --data ${PROJECT_SOURCE_DIR}/examples/tpch/data/sf0.001 --expected ${CMAKE_CURRENT_BINARY_DIR}/other.json)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/other.json "{\"q1\": []}")
program_test(tpch hexadecimal CODE 2 ERR "--memory: 0x10: not a size" ARGS ${tpch_text} --memory 0x10)
foreach(program IN ITEMS tpch flights) # what is lost is said
    add_test(NAME example.${program}.output_lost COMMAND sh -c "\"$0\" \"$@\" >/dev/full; test $? = 1" $<TARGET_FILE:${program}> --help)
    add_test(NAME example.${program}.nameless COMMAND sh -c "\"$0\" --html '' 2>&1 >/dev/null" $<TARGET_FILE:${program}>)
    set_tests_properties(example.${program}.output_lost example.${program}.nameless PROPERTIES LABELS example TIMEOUT 300)
    set_tests_properties(example.${program}.nameless PROPERTIES PASS_REGULAR_EXPRESSION "--html: the name of a file is empty")
endforeach()
# Other limits beside the first: one table, whose numbers of memory are those of tpch_report.cpp. Too little for one of them ends that one.
program_test(tpch beside SPILL OUT "^limit +1024 KiB +no limit +800 KiB\nq1 +right, [^\n]*\n.*\njoin +right, [^\n]* spilled +right, [0-9.]+ s +right, [^\n]* spilled\n"
    "\nwritten +[1-9][0-9]* KiB +0 B +[1-9]" "\nresident, by the account +[1-9]" "\npromised to tasks, at the peak +" ARGS ${tpch_text} --memory 1MiB --threads 1 --tasks 4 --beside none,800KiB)
program_test(tpch beside_too_little CODE 12 SPILL OUT "q1 +right, [^\n]* +out of memory\n" ERR "q1, 102 KiB: " ARGS ${tpch_text} --memory 1MiB --threads 1 --beside 1/10)
program_test(tpch beside_wrong CODE 2 ERR "--beside: 1/0: not a size" ARGS ${tpch_text} --beside none,1/0)
program_test(tpch wrong_option CODE 2 ERR "--memory" ARGS ${tpch_text} --memory much)
# With a device: the same sums. Under 112 KiB a chunk of 2048 rows does not fit beside the sums of its task; under 64 KiB no chunk does.
set(tpch_q1 ${tpch_text} --memory 4MiB --threads 4 --tasks 4 --query q1,q1,q1,q1 --device)
program_test(tpch device OUT "(q1 [^\n]* right\n)(q1 [^\n]* right\n)(q1 [^\n]* right\n)(q1 [^\n]* right\n)" "\ndevice simulated: at most [0-9]+ KiB of 64.0 MiB, [0-9.]+ [KM]iB copied, 0 hazards\n"
    ARGS ${tpch_q1} simulated)
program_test(tpch device.splits OUT "\"query\":\"q1\",\"right\":true,[^}]*\"splits\":[1-9]" "\"device\":\"simulated\",\"device_copied\":[1-9][0-9]*,\"device_limit\":114688,\"device_peak\":114688," "\"hazards\":0,"
    ARGS ${tpch_q1} simulated --device-memory 112KiB --json)
program_test(tpch device.every_query SPILL OUT "6 queries" ", 0 hazards\n" ARGS ${tpch_text} --memory 1MiB --tasks 4 --device simulated --device-memory 192KiB --compare)
program_test(tpch device.too_small CODE 12 OUT "q1 [^\n]* out of memory\n" ERR "account device memory uses 64 KiB of 64 KiB" "\n  tasks: [1-4]\n    q1 "
    ARGS ${tpch_q1} simulated --device-memory 64KiB)
program_test(tpch device.raise CODE 12 ERR "\naccounts of device memory\n  device memory: [0-9]+ KiB used of 112 KiB, .*\n    tpch: [0-9]+ KiB used" ARGS ${tpch_q1} simulated --device-memory 112KiB --oom raise)
program_test(tpch device.unknown CODE 2 ERR "--device: gpu not in {none,simulated,cuda}" ARGS ${tpch_q1} gpu)
list(JOIN tpch_text "@@" tpch_cuda_args)
add_test(NAME example.tpch.device.cuda COMMAND ${CMAKE_COMMAND} -D program=$<TARGET_FILE:tpch> -D name=tpch -D "args=${tpch_cuda_args}@@--query@@q1,q1@@--tasks@@2"
    -D "right=q1 [^\n]* right\nq1 [^\n]* right\n.*device cuda: at most [0-9.]+ [KM]iB of 64.0 MiB" -P ${PROJECT_SOURCE_DIR}/tests/examples/device_cuda.cmake)
set_tests_properties(example.tpch.device.cuda PROPERTIES LABELS example TIMEOUT 300)
if(TARGET allot_parquet AND ALLOT_TPCHGEN)
    program_test(tpch parquet_queries SPILL OUT "6 queries" ARGS --data ${CMAKE_CURRENT_BINARY_DIR}/data/sf0.001 --expected ${tpch_answers}/sf0.001.json --memory 6MiB --tasks 4)
    set_tests_properties(example.tpch.parquet_queries PROPERTIES FIXTURES_REQUIRED tpch_parquet)
endif()
add_executable(tpch_report ${PROJECT_SOURCE_DIR}/tests/examples/tpch_report.cpp report.cpp)
allot_program(tpch_report)
target_include_directories(tpch_report PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(tpch_report PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
set_target_properties(tpch_report PROPERTIES UNITY_BUILD ON)
add_test(NAME example.tpch.report COMMAND tpch_report)
set_tests_properties(example.tpch.report PROPERTIES LABELS example TIMEOUT 300)
foreach(name IN ITEMS engine faults)
    add_executable(tpch_${name} ${PROJECT_SOURCE_DIR}/tests/examples/tpch_${name}.cpp)
    allot_program(tpch_${name})
    target_link_libraries(tpch_${name} PRIVATE tpch_queries)
endforeach()
add_test(NAME example.tpch.engine COMMAND tpch_engine)
add_test(NAME example.tpch.faults COMMAND tpch_faults ${PROJECT_SOURCE_DIR}/examples/tpch/data/sf0.001 ${tpch_answers}/sf0.001.json)
set_tests_properties(example.tpch.engine example.tpch.faults PROPERTIES LABELS example TIMEOUT 300)
# The bench beside DuckDB, its smoke: without DuckDB.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
    add_test(NAME example.tpch.bench COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/bench/tpch.py smoke $<TARGET_FILE:tpch>)
    set_tests_properties(example.tpch.bench PROPERTIES LABELS example TIMEOUT 300)
endif()
