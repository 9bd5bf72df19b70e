# Warnings are errors (style.md 12).
set(CELLD_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wswitch-enum -Wvla -Wundef -Werror)
add_compile_options(${CELLD_WARNINGS} -fno-strict-aliasing -fno-omit-frame-pointer)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
# Paths in objects are relative to the checkout: messages read the same everywhere, and ccache serves every checkout.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
# Codes of CD_ERRORS and of IO_STATUSES are made to be mixed: a function returns either.
add_compile_options($<$<C_COMPILER_ID:Clang>:-Wno-enum-compare-conditional>)
