export default async ({ get, equal }) => {
    equal(await (await get('/?a=40&b=2')).text(), '42\n');
};
