// trace.mjs PAGE JSON: the page of a trace is well-formed, asks nobody for anything, has the records of the JSON trace
// and no others, and its own code reads them all. Prints what it makes of them.
import fs from "node:fs";
import vm from "node:vm";

const [page, json] = process.argv.slice(2).map(f => fs.readFileSync(f, "utf8"));
const fail = text => { console.log("FAILED: " + text); process.exit(1); };

const open = [], VOID = /^(meta|input|br|link|img)$/;
const bare = page.replace(/(<(script|style)[^>]*>)[^]*?(<\/\2>)/g, "$1$3").replace(/<!DOCTYPE html>/, "");
for (const [, end, name] of bare.matchAll(/<(\/?)([a-z]+)[^<>]*>/g)) {
  if (end ? open.pop() !== name : false) fail("</" + name + "> ends another element");
  if (!end && !VOID.test(name)) open.push(name);
}
if (open.length) fail("not ended: " + open);
if (/\b(src|href)=|https?:|import\s|fetch\(/.test(page.replace(/(id="records">)[^]*/, ""))) fail("it needs the network");

const [code, text] = [/<script>\n([^]*?)<\/script>/, /id="records">\n([^]*?)<\/script>/].map(r => r.exec(page)[1]);
const lines = text.trimEnd().split("\n");
for (const line of lines) JSON.parse(line);
if (lines.slice(1, -1).join("\n").replaceAll("\\u003c", "<") !== json.trimEnd()) fail("its records are not those of the JSON trace");

const elements = { records: { textContent: text } };
const document = { getElementById: id => elements[id] ??= { textContent: "" }, addEventListener() {} };
const result = vm.runInNewContext(code + "; read(); ({ recs, lanes, failure })", { document, window: {} });
if (result.recs.length !== lines.length - 2) fail("it reads " + result.recs.length + " of " + (lines.length - 2) + " records");
console.log(elements.verdict.textContent);
for (const l of result.lanes) console.log(l.name + ": " + l.bars.concat(l.marks).map(b => b.text).join(", "));
