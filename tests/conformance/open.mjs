// conformance/open.mjs: cases of which celld does not do yet what they assert: { area: { case: what is missing } }. One that passes
// has to leave this list.
export const OPEN = {
    fetch: {
        'an error status is no failure': "the server's reason phrase is not read; the one of the status stands for it",
    },
};
