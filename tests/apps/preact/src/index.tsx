// A page rendered on the server with Preact: JSX, hooks, context, escaping.
/** @jsx h */
/** @jsxFrag Fragment */
import { createContext, Fragment, h } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { renderToString } from 'preact-render-to-string';

const Theme = createContext('light');

function Item({ name, price }: { name: string; price: number }) {
    const theme = useContext(Theme);
    const label = useMemo(() => `${name}: ${price.toFixed(2)}`, [name, price]);
    return <li class={theme}>{label}</li>;
}

function Page({ items, title }: { items: { name: string; price: number }[]; title: string }) {
    return (
        <html lang="en">
            <head>
                <title>{title}</title>
            </head>
            <body>
                <Theme.Provider value="dark">
                    <ul style={{ paddingLeft: 4 }}>
                        {items.map((item) => (
                            <Item key={item.name} {...item} />
                        ))}
                    </ul>
                </Theme.Provider>
                <>
                    <p dangerouslySetInnerHTML={{ __html: '<b>raw</b>' }} />
                    <input disabled value={'"quoted" & <escaped>'} />
                </>
            </body>
        </html>
    );
}

export default {
    fetch(request: Request) {
        const title = new URL(request.url).searchParams.get('title') ?? 'Shop';
        const items = [
            { name: 'Tea', price: 3 },
            { name: 'Cake & Co', price: 4.5 },
        ];
        return new Response('<!doctype html>' + renderToString(<Page items={items} title={title} />), {
            headers: { 'content-type': 'text/html; charset=utf-8' },
        });
    },
};
