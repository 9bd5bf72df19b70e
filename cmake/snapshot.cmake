# celld_snapshot(NAME OPS PRELUDE): a library NAME_snapshot with the symbols NAME_snapshot_begin and
# NAME_snapshot_end around the startup snapshot of PRELUDE (js/snapshot.h), which is made while building.
# OPS is the header with the names of the host functions.
function(celld_snapshot name ops prelude)
    set(blob ${CMAKE_CURRENT_BINARY_DIR}/${name}.snapshot)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_snapshot.c)
    add_executable(make_${name}_snapshot ${CMAKE_SOURCE_DIR}/tools/snapshot.c)
    target_compile_definitions(make_${name}_snapshot PRIVATE SNAPSHOT_OPS="${ops}")
    target_link_libraries(make_${name}_snapshot PRIVATE celld_js)
    add_custom_command(OUTPUT ${blob} COMMAND make_${name}_snapshot ${blob} ${prelude}
                       DEPENDS make_${name}_snapshot ${prelude} VERBATIM)
    file(CONFIGURE OUTPUT ${source} CONTENT
"__asm__(\".section .rodata\\n.balign 64\\n.global ${name}_snapshot_begin\\n.global ${name}_snapshot_end\\n\"
        \"${name}_snapshot_begin:\\n.incbin \\\"${blob}\\\"\\n${name}_snapshot_end:\\n.previous\\n\");
")
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${blob})
    add_library(${name}_snapshot STATIC ${source})
endfunction()
