# cmake -D program=... -D data=... -D work=... -P larger.cmake: the month eight times over.
set(times 8)
set(large ${work}/flights_larger.csv)
file(READ ${data}/flights_2013_01.csv month)
string(FIND "${month}" "\n" header)
math(EXPR header "${header} + 1")
string(SUBSTRING "${month}" ${header} -1 lines)
file(WRITE ${large} "${month}")
foreach(again RANGE 2 ${times})
    file(APPEND ${large} "${lines}")
endforeach()

execute_process(COMMAND ${program} --flights ${large} --memory 256M --threads 4 --rows 0
    RESULT_VARIABLE result OUTPUT_VARIABLE stdout ERROR_VARIABLE stderr)
file(REMOVE ${large})
# 27,004 flights a month; 9,893 + 9,161 + 7,950 by origin.
foreach(regex IN ITEMS "^220,828 rows:" "EWR +2013 +1 +79144 +1904 +2.41" "JFK +2013 +1 +73288 +800 +1.09"
                       "LGA +2013 +1 +63600 +1464 +2.30" "JFK +John F Kennedy Intl +LAX +Los Angeles Intl +7496"
                       " 216032 +- +2013-01-31 +2100 +US +2144" "afterwards: 0 rows")
    if(NOT result EQUAL 0 OR NOT stdout MATCHES "${regex}")
        message(FATAL_ERROR "exit code ${result}, \"${regex}\" not found\n${stdout}\n${stderr}")
    endif()
endforeach()
