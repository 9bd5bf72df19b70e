export default async ({ get, equal }) => {
    const page = await get('/?title=%3CTea%3E');
    equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    equal(
        await page.text(),
        '<!doctype html><html lang="en"><head><title>&lt;Tea></title></head><body><ul style="padding-left:4px;">' +
            '<li class="dark">Tea: 3.00</li><li class="dark">Cake &amp; Co: 4.50</li></ul><p><b>raw</b></p>' +
            '<input disabled value="&quot;quoted&quot; &amp; &lt;escaped>"/></body></html>',
    );
};
