export default async ({ get, equal }) => {
    equal(await (await get('/?name=celld')).text(), 'Hello, celld!\n');
    equal(await (await get('/')).text(), 'Hello, world!\n');
};
