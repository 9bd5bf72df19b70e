// conformance/areas.mjs: the areas, in the order of the report. Each is areas/NAME.js, or the folder areas/NAME with main.js.
export const AREAS = [
    { name: 'request', title: 'Request' },
];
