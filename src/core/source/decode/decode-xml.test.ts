import { describe, expect, test } from 'vitest';
import { decodeAtOnce } from './decode-turns.ts';
import { decodeXml, xmlEncoding } from './decode-xml.ts';

const atOnce = { turns: decodeAtOnce, held: decodeAtOnce.open() };
const nested = (depth: number) => `${'<a>'.repeat(depth)}1${'</a>'.repeat(depth)}`;

test.each<[string, string, unknown]>([
  ['text as strings', '<r><a>007</a><b>true</b><c/></r>', { r: { a: '007', b: 'true', c: '' } }],
  ['attributes and text', '<r><a x="1" y=\'2\'>t</a></r>', { r: { a: { '@x': '1', '@y': '2', '#text': 't' } } }],
  ['repeated elements as a list', '<r><a>1</a><b/><a>2</a></r>', { r: { a: ['1', '2'], b: '' } }],
  ['prefixes as part of the name', '<n:r xmlns:n="u"><n:a>1</n:a></n:r>', { 'n:r': { '@xmlns:n': 'u', 'n:a': '1' } }],
  ['no space around values', '<r>\n <a> x  y </a>\n <b c=" z "/></r>', { r: { a: 'x  y', b: { '@c': 'z' } } }],
  ['CDATA as it is', '<r><![CDATA[ <!DOCTYPE a> &amp; ]]></r>', { r: ' <!DOCTYPE a> &amp; ' }],
  [
    'the entities of XML, once',
    '<r a="&quot;&apos;">&lt;&gt;&amp;amp;</r>',
    { r: { '@a': '"\'', '#text': '<>&amp;' } },
  ],
  ['character references', '<r>&#65;&#x1F600;&#10;</r>', { r: 'A😀\n' }],
  [
    'no comments, instructions and declaration',
    '<?xml version="1.0"?><!-- a --><?b c?><r>1<!-- 2 -->3</r>',
    { r: '13' },
  ],
  ['NUL as any character', '<r>a\u0000b</r>', { r: 'a\u0000b' }],
  ['an attribute called __proto__', '<r __proto__="1"/>', { r: { '@__proto__': '1' } }],
])('reads %s', async (_, text, expected) => {
  expect(await decodeXml(text, atOnce)).toEqual(expected);
});

test('takes 64 levels and no more', async () => {
  expect(await decodeXml(nested(64), atOnce)).toHaveProperty('a.a.a');
  await expect(decodeXml(nested(65), atOnce)).rejects.toThrow(/nested more than 64 levels/);
});

test('a large document is parsed beside the work of others, to the same result', async () => {
  const items = Array.from({ length: 10_000 }, (_, index) => ({ '@id': String(index), name: `é & ${index}` }));
  const text = items.map((item) => `<i id="${item['@id']}"><name>${item.name.replace('&', '&amp;')}</name></i>`);
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);
  expect(await decodeXml(`<r>${text.join('')}</r>`, atOnce)).toEqual({ r: { i: items } });
  clearInterval(timer);
  expect(turns).toBeGreaterThan(10);
});

test.each([
  ['<?xml version="1.0" encoding="ISO-8859-1"?><r/>', 'iso-8859-1'],
  ["<?xml version='1.0' encoding='utf-8' ?><r/>", 'utf-8'],
  ['<?xml version="1.0"?><r encoding="x"/>', null],
  ['<r/>', null],
])('the encoding that %s declares is %s', (text, encoding) => {
  expect(xmlEncoding(Buffer.from(text))).toBe(encoding);
});

const laughs = `<!DOCTYPE l [<!ENTITY a "s3cret">${Array.from({ length: 9 }, (_, i) => `<!ENTITY l${i} "&a;&a;&a;">`).join('')}]>`;
const fill = `<s>${'s3cret '.repeat(20_000)}</s>`;

describe('refused', () => {
  test.each<[string, string, RegExp]>([
    ['billion laughs', `<?xml version="1.0"?>${laughs}<r>&l8;</r>`, /DOCTYPE/],
    ['a plain entity', '<!DOCTYPE r [<!ENTITY a "s3cret">]><r>&a;</r>', /DOCTYPE/],
    ['an external entity', '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///s3cret">]><r>&a;</r>', /DOCTYPE/],
    ['an external DTD', '<!DOCTYPE r SYSTEM "http://s3cret.test/x.dtd"><r/>', /DOCTYPE/],
    ['an HTML page', '<!doctype html><html><p>s3cret</html>', /DOCTYPE/],
    ['a DOCTYPE behind a comment with a tag', '<!-- <a> --><!DOCTYPE r [<!ENTITY a "s3cret">]><r>&a;</r>', /DOCTYPE/],
    ['a DOCTYPE inside', '<r><!DOCTYPE r [<!ENTITY a "s3cret">]>&a;</r>', /DOCTYPE|not well-formed/],
    ['an entity of HTML', '<r>s3cret&nbsp;</r>', /entity/],
    ['a reference to no character', '<r>s3cret&#xD800;</r>', /entity/],
    ['a reference to NUL', '<r>s3cret&#0;</r>', /entity/],
    ['10,000 levels', nested(10_000), /nested more than 64 levels/],
    ['10,000 levels never closed', '<s3cret>'.repeat(10_000), /not well-formed/],
    ['a document cut off', '<r><a>s3cret</a>', /not well-formed/],
    ['a wrong closing tag', '<r><a>s3cret</b></r>', /not well-formed/],
    ['two roots', '<r>s3cret</r><r/>', /not well-formed/],
    ['two different roots', '<r/><s3cret/>', /not well-formed/],
    ['text behind the root', '<r>a</r>s3cret', /not well-formed/],
    ['no element', '', /not well-formed/],
    ['JSON', '{"a":"s3cret"}', /not well-formed/],
    ['an element called __proto__', '<r><__proto__><s3cret/></__proto__></r>', /not well-formed/],
    ['an element called constructor', '<r><constructor>s3cret</constructor></r>', /not well-formed/],
    ['very many elements', `<r>${'<a/>'.repeat(500_000)}</r>`, /more than 500000 tags/],
    ['very many attributes', `<r ${'a="" '.repeat(500_000)}/>`, /more than 500000 tags/],
    ['a very long document', `<r>${'a'.repeat(17_000_000)}</r>`, /more than 16777216 characters/],
    ['a large document that is not well-formed', `<r>${fill}`, /not well-formed/],
    ['a large document with a DOCTYPE', `${laughs}<r>${fill}&l8;</r>`, /DOCTYPE/],
  ])('%s, without showing it', async (_, text, message) => {
    const error = await decodeXml(text, atOnce).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: 'source_rejected', message: expect.stringMatching(message) });
    expect(error).not.toHaveProperty('cause.message');
    expect(String(error)).not.toContain('s3cret');
  });
});

test('what parsers stumble over in squares of its length takes no longer than its length', async () => {
  const startedAt = performance.now();
  for (const part of ['<', '<!--', '<![CDATA[', '<?a ', '&', '&#', '<a ', '"', "<a b='", '<!x', '<!DOCTYPE ', ' ']) {
    const text = `<r>${part.repeat(90_000 / part.length)}`;
    await expect(decodeXml(text, atOnce)).rejects.toMatchObject({ code: 'source_rejected' });
  }
  expect(performance.now() - startedAt).toBeLessThan(5000);
});
