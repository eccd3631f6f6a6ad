import { columnTypeForms } from '../schema/column-type.ts';
import { type Field, placeOfPart, type Section, sectionsOfSpec } from './fields.ts';

const head = `# Reference of a ConnectorSpec

Every field of a spec, its type, its default and what it does in a run. \`npm run generate\` writes this page from the schemas that
the validator uses. The same facts for editors are in [connector-spec.schema.json](../../connector-spec.schema.json).

A spec is JSON, or YAML with \`Content-Type: application/yaml\`. An unknown field is an issue \`schema\`, unless its name begins with
\`x-\`. Every field can have an issue \`schema\` (missing, of another type, out of bounds, an expression that does not parse); the
column *issues* names other codes ([errors.md](errors.md)). Types: a **template** is a text with \`{{ JSONata }}\` holes, an **expression** is JSONata ([expressions.md](expressions.md));
a **dotted path** is a name such as \`user.id\`, never an expression; a **duration** is ISO 8601 without years and months, such as
\`P30D\` or \`PT90S\`; a **column type** (also \`x-type\` in a schema) is
${columnTypeForms}. **Bold** fields are required.
`;

/** Renders docs/connectors/reference.md. */
export function renderReference(): string {
  const sections = sectionsOfSpec();
  const byPath = Map.groupBy(sections, ({ path }) => path);
  const contents = [...byPath.keys()].map((path) => `- [${titleOf(path)}](#${anchorOf(path)})`).join('\n');
  const parts = [...byPath].map(([path, kinds]) => renderObject(path, kinds));
  return `${[head, contents, ...parts].join('\n')}\n`;
}

const titleOf = (path: string): string => (path === '' ? 'The document' : path);

/** Anchor of a path as common Markdown renderers make it: lower case, no punctuation. */
const anchorOf = (path: string): string =>
  titleOf(path)
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');

function renderObject(path: string, sections: readonly Section[]): string {
  const others = elsewhere[path] === undefined ? '' : `\nAlso at ${elsewhere[path]}.\n`;
  return `\n## ${titleOf(path)}\n${others}${[...new Set(sections.map(renderSection))].join('')}`;
}

const elsewhere: Readonly<Record<string, string>> = {
  auth: '`resources[].auth`',
  'http.errors[]': '`resources[].errors[]`, `resources[].job.createErrors[]` and `resources[].job.pollErrors[]`',
  'resources[].request':
    '`lookups[].request`, `resources[].enrich[].request`, `resources[].deletes.request` and `auth.login` of kind `session`',
  'resources[].pagination': '`lookups[].pagination` and `resources[].deletes.pagination`',
  'tests[].mocks[].request': '`tests[].expect.requests[]`',
  'http.rateLimit': '`resources[].request.rateLimit`',
};

function renderSection({ kind, kindField, about, fields }: Section): string {
  const title = kind === null ? '' : `\n### ${kindField}: ${kind}\n`;
  const words = about === '' ? '' : `\n${about}\n`;
  if (fields.length === 0) return `${title}${words}`;
  const rows = fields.map(renderField).join('\n');
  return `${title}${words}\n| field | type | default | meaning | example | issues |\n|---|---|---|---|---|---|\n${rows}\n`;
}

const renderField = ({ name, type, isRequired, default: usual, meaning, example, issues }: Field): string =>
  `| ${[
    isRequired ? `**${name}**` : name,
    linked(type),
    usual === undefined ? '' : code(usual),
    meaning,
    example === undefined ? '' : code(example),
    issues.map((issue) => `\`${issue}\``).join(', '),
  ]
    .map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' '))
    .join(' | ')} |`;

const code = (value: unknown): string => `\`${JSON.stringify(value)}\``;

const linked = (type: string): string =>
  type.replace(/[A-Z][A-Za-z]+$/, (name) => {
    const path = placeOfPart(name);
    return path === undefined ? name : `[${name}](#${anchorOf(path)})`;
  });
