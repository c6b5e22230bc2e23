# allot_find_library(NAME missing): the target allot::NAME for lz4 or uring, which spill files can use. `missing`: what to
# do where it is not found, or empty. Installed too: allotConfig.cmake calls it on the user's machine.
function(allot_find_library library missing)
    string(TOUPPER ${library} upper)
    set(${missing} "" PARENT_SCOPE)
    find_path(ALLOT_${upper}_INCLUDE NAMES ${library}.h lib${library}.h)
    find_library(ALLOT_${upper}_LIBRARY ${library})
    mark_as_advanced(ALLOT_${upper}_INCLUDE ALLOT_${upper}_LIBRARY)
    if(NOT ALLOT_${upper}_INCLUDE OR NOT ALLOT_${upper}_LIBRARY)
        set(${missing} "allot was configured with ALLOT_WITH_${upper}, and lib${library} or its header is not found. Install \
it (Debian: apt-get install lib${library}-dev), or configure allot with ALLOT_WITH_${upper}=OFF." PARENT_SCOPE)
    elseif(NOT TARGET allot::${library})
        add_library(allot::${library} INTERFACE IMPORTED)
        target_include_directories(allot::${library} INTERFACE ${ALLOT_${upper}_INCLUDE})
        target_link_libraries(allot::${library} INTERFACE ${ALLOT_${upper}_LIBRARY})
    endif()
endfunction()
