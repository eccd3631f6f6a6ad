/** The record of JSONata's own documentation, in short. */
const person = {
  FirstName: 'Fred',
  Surname: 'Smith',
  Age: 28,
  Address: { Street: 'Hursley Park', City: 'Winchester', Postcode: 'SO21 2JN' },
  Phone: [
    { type: 'home', number: '0203 544 1234' },
    { type: 'office', number: '01962 001234' },
    { type: 'office', number: '01962 001235' },
    { type: 'mobile', number: '077 7700 1234' },
  ],
  Email: [
    { type: 'work', address: ['fred.smith@my-work.com', 'fsmith@my-work.com'] },
    { type: 'home', address: ['freddy@my-social.com', 'frederic.smith@very-serious.com'] },
  ],
  Other: { 'Over 18 ?': true, Misc: null, 'Alternative.Address': { Street: 'Brick Lane', City: 'London' } },
  Account: {
    Order: [
      {
        Product: [
          { Price: 34.45, Quantity: 2 },
          { Price: 21.67, Quantity: 1 },
        ],
      },
      { Product: [{ Price: 107.99, Quantity: 1 }] },
    ],
  },
  Numbers: [1, 2, 3, 4],
  nest0: [{ nest1: [1, 2] }, { nest1: [3] }, { nest1: 4 }, {}],
  nested: [[1, 2], [3], [], [[4]]],
};

/** Each is an object; what stands in its fields is where expressions differ. */
export const recordsByHand: readonly unknown[] = [
  person,
  ...[
    undefined,
    null,
    true,
    false,
    0,
    -0,
    1,
    -1.5,
    2.5,
    1e21,
    2 ** 53,
    1.1 + 2.2,
    'x',
    '',
    ' ',
    '😀é',
    '\udc00',
    '0x1F',
    '1e400',
  ].map((a) => ({ a, b: 1, list: [a] })),
  ...[[], [1], [1, 'x'], [[1]], [[]], [[], [1]], [null], [{}], [{ b: 1 }], [{ b: [1, 2] }, { b: 3 }], [{ b: [] }]].map(
    (a) => ({ a }),
  ),
  ...[{}, { b: null }, { b: { c: 'deep' } }, { b: [{ c: 1 }, { c: [2, 3] }] }, { '10': 1, '9': 2, z: 3 }].map((a) => ({
    a,
  })),
  JSON.parse(
    '{"a":{"sequence":true,"keepSingleton":true,"cons":true,"length":1,"then":"x","next":1,"toJSON":"text"},"b":["only"]}',
  ),
  { a: { outerWrapper: true, '0': 'odd' }, b: { _jsonata_lambda: true }, c: { tupleStream: true } },
  JSON.parse('{"a":{"__proto__":{"b":1},"constructor":2,"hasOwnProperty":3},"__proto__":{"b":4}}'),
  { lookups: { t: 'own' }, a: 'x', params: 1 },
  'a text',
  7,
  null,
  [],
  [{ a: 1 }],
];

/** Values of every type as arguments; most of them are the wrong ones. */
const values = [
  'missing',
  'null',
  'true',
  '0',
  '-1.5',
  '2',
  '"abc"',
  '""',
  '"2024-02-29"',
  '[]',
  '[2]',
  '[1, 2]',
  '["b", "a"]',
  '{}',
  '{"a": 1}',
  '[{"a": 1}, {"b": 2}]',
  '$',
];

const functions = [
  ...[
    'string',
    'lowercase',
    'uppercase',
    'trim',
    'length',
    'substring',
    'substringBefore',
    'substringAfter',
    'contains',
  ],
  ...[
    'pad',
    'split',
    'join',
    'replace',
    'base64encode',
    'base64decode',
    'encodeUrl',
    'encodeUrlComponent',
    'decodeUrl',
  ],
  ...['decodeUrlComponent', 'number', 'abs', 'floor', 'ceil', 'round', 'sqrt', 'power', 'sum', 'average', 'max', 'min'],
  ...['boolean', 'not', 'toMillis', 'fromMillis', 'count', 'append', 'reverse', 'distinct', 'exists', 'type', 'lookup'],
  ...['keys', 'spread', 'merge', 'error', 'assert'],
];

/** Functions that take as many arguments; to give them more, or too many, is for the generated ones. */
const ofTwo = [
  'substring',
  'substringBefore',
  'contains',
  'pad',
  'split',
  'join',
  'round',
  'power',
  'append',
  'lookup',
  'assert',
  'string',
];

/** Each function and each operator with values of every type. */
export const combinedExpressions: readonly string[] = [
  ...functions.map((name) => `$${name}()`),
  ...functions.flatMap((name) => values.map((value) => `$${name}(${value})`)),
  ...ofTwo.flatMap((name) =>
    values.flatMap((first) => ['missing', 'null', '2', '"b"', '[1]'].map((second) => `$${name}(${first}, ${second})`)),
  ),
  ...['"b"', 'missing', '""', '5'].flatMap((wanted) =>
    ['"-"', 'missing', '1'].flatMap((by) =>
      ['', ', 1', ', 0', ', -1', ', 0.5'].map((limit) => `$replace("abcb", ${wanted}, ${by}${limit})`),
    ),
  ),
  ...['+', '-', '*', '/', '%', '=', '!=', '<', '<=', '>', '>=', '&', 'and', 'or', 'in'].flatMap((operator) =>
    values.flatMap((left) =>
      ['missing', 'null', 'false', '2', '"abc"', '[1, 2]', '{"a": 1}', 'a'].map(
        (right) => `${left} ${operator} ${right}`,
      ),
    ),
  ),
];

/** Each has one part that is not compiled. */
export const expressionsNotCompiled: readonly string[] = [
  ...[
    '$map(a, $string)',
    '$filter(a, function($v){$v})',
    'function($x){$x}',
    '($f := function(){1}; $f())',
    '$reduce(a, $append)',
    '$sort(a)',
  ],
  ...[
    'a^(b)',
    'a{b: c}',
    'a.%',
    'a@$x.b',
    'a#$i',
    '**',
    'a.*',
    '*',
    '$ ~> |a|{"b": 1}|',
    '$substring(?, 1)',
    '$eval("1")',
    '$random()',
    '$shuffle(a)',
  ],
  ...[
    'a ~> /x/',
    '$match(a, /x/)',
    '$contains(a, /x/)',
    '$replace(a, /x/, "y")',
    '$split(a, /x/)',
    '$formatNumber(a, "#")',
    '$formatInteger(a, "w")',
  ],
  ...[
    '$fromMillis(a, "[Y]")',
    '$toMillis(a, "[Y]")',
    '$now("[Y]")',
    '$clone(a)',
    '$zip(a, b)',
    '$single(a)',
    '$each(a, $string)',
    '$sift(a)',
    '$nothing(a)',
  ],
  ...[
    '$string',
    '$x := 1',
    '{"a": $x := 1, "b": $x}',
    '($string := 1; $string(a))',
    'a ~> b',
    'a(b)',
    '{"__proto__": a}',
    '{"outerWrapper": a}',
    '{"_jsonata_lambda": 1}',
  ],
  ...[
    'a ~> $split(",")[0]',
    '$über',
    '"',
    '{',
    '',
    'a b',
    '1.2.3',
    `${'('.repeat(5000)}a`,
    `[${Array.from({ length: 600 }, () => 'a').join(',')}]`,
    'a'.repeat(20_000),
  ],
];
