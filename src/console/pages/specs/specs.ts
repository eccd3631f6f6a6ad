import * as v from 'valibot';
import { findSpecsPage, findSpecVersion, findVersionsPage, type VersionLine } from '../../../../db/queries/specs.ts';
import { nameParam } from '../../../api/inputs.ts';
import { notFound } from '../../../core/errors.ts';
import { SpecKey } from '../../../core/json/property-names.ts';
import { SpecVersion } from '../../../core/spec/schema/spec-schema.ts';
import { select } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { diffLines, nearChanges, type ShownLine } from '../../parts/line-diff.ts';
import { count, counted } from '../../parts/numbers.ts';
import { before, pageFrom, pager } from '../../parts/pager.ts';
import { specText } from '../../parts/spec-text.ts';
import { versionBadge } from '../../parts/status.ts';
import { nothing, section, table } from '../../parts/table.ts';
import { page } from '../../route.ts';

/** Other forms of a key or version are a 404. */
export const VersionParams = v.object({
  key: nameParam(SpecKey, { noun: 'Spec version', example: 'acme-crm' }),
  version: nameParam(SpecVersion, { noun: 'Spec version', example: '1.0.0' }),
});
const KeyParams = v.object({ key: nameParam(SpecKey, { noun: 'Spec', example: 'acme-crm' }) });

export const versionPath = (key: string, version: string): string => `/console/specs/${key}/${version}`;

const versionsShown = 6;

export const specsPage = page({
  path: '/specs',
  query: v.object(before('spec')),
  handle: async ({ scope, query, address }, { db }) => {
    const specs = await findSpecsPage(db, scope, { ...pageFrom(query), versionsMax: versionsShown });
    return {
      title: 'Specs',
      section: 'specs',
      body: html`${heading('Specs', {
        about: 'Descriptions of APIs: how each is read, and where its records go.',
        actions: html`<a class="button primary" href="/console/new-spec">New spec</a>`,
      })}
        ${table({
          caption: 'Specs',
          rows: specs.rows,
          empty: nothing(
            'No spec yet.',
            html`<a href="/console/new-spec">Write the first one</a>, or <a href="/console/catalogue">start from a ready connector</a>.`,
          ),
          columns: [
            { head: 'Spec', cell: ({ key }) => html`<a class="strong" href="/console/specs/${key}">${key}</a>` },
            {
              head: 'Versions',
              kind: 'wide',
              cell: ({ key, versions, versionCount }) =>
                html`<ul class="versions">${versions.map(
                  ({ version, status }) =>
                    html`<li><a href="${versionPath(key, version)}">${version}</a> ${versionBadge(status)}</li>`,
                )}${versionCount > versionsShown ? html`<li><a href="/console/specs/${key}">and ${count(versionCount - versionsShown)} more</a></li>` : ''}</ul>`,
            },
          ],
        })}
        ${pager(specs, address)}`,
    };
  },
});

export const specPage = page({
  path: '/specs/:key',
  params: KeyParams,
  query: v.object(before('specver')),
  handle: async ({ scope, params: { key }, query, address }, { db }) => {
    const versions = await findVersionsPage(db, scope, key, pageFrom(query));
    const [last, previous] = versions.rows;
    const published = versions.rows.find(({ status }) => status === 'published');
    if (!last && query.before === undefined) throw notFound('Spec');
    return {
      title: `Spec ${key}`,
      section: 'specs',
      trail: [['Specs', '/console/specs']],
      body: html`${heading(key, {
        actions: last
          ? [
              html`<a class="button" href="/console/new-spec?from=${key}&amp;version=${last.version}">Write the next version</a>`,
              published ? connectLink(key, published.version) : null,
            ]
          : null,
      })}
        ${table({
          caption: 'Versions',
          rows: versions.rows,
          empty: nothing('No older version.'),
          columns: [
            {
              head: 'Version',
              cell: ({ version }) => html`<a class="strong" href="${versionPath(key, version)}">${version}</a>`,
            },
            { head: 'Status', kind: 'wide', narrow: 'lead', cell: ({ status }) => versionBadge(status) },
          ],
        })}
        ${pager(versions, address)}
        ${previous ? section('Compare two versions', compareForm({ key, versions: versions.rows, from: previous.version, to: last?.version })) : ''}`,
    };
  },
});

/** The version must be published. */
export const connectLink = (key: string, version: string): Html =>
  html`<a class="button primary" href="/console/new-connection?spec=${key}&amp;version=${version}">Create a connection</a>`;

interface Compared {
  readonly key: string;
  readonly versions: readonly Pick<VersionLine, 'version'>[];
  readonly from: string | undefined;
  readonly to: string | undefined;
}

const compareForm = ({ key, versions, from, to }: Compared): Html => {
  const names = new Set([
    ...versions.map(({ version }) => version),
    ...[from, to].filter((name) => name !== undefined),
  ]);
  const options = [...names].map((name) => [name, name] as const);
  return html`<form method="get" action="/console/specs/${key}/compare" class="filters">
    ${select({ name: 'from', label: 'From', value: from, options })}
    ${select({ name: 'to', label: 'To', value: to, options })}
    <button>Compare</button></form>`;
};

const VersionQuery = v.pipe(
  v.string(),
  v.check((value) => v.is(SpecVersion, value), 'expected a version such as 1.0.0'),
);

export const comparePage = page({
  path: '/specs/:key/compare',
  params: KeyParams,
  query: v.object({ from: VersionQuery, to: VersionQuery }),
  handle: async ({ scope, params: { key }, query: { from, to } }, { db, costly }) => {
    const [first, second, newest] = await Promise.all([
      findSpecVersion(db, scope, { key, version: from }),
      findSpecVersion(db, scope, { key, version: to }),
      findVersionsPage(db, scope, key, pageFrom({})),
    ]);
    if (!first || !second) throw notFound('Spec version');
    const lines = await costly.run(scope.orgId, 'side_by_side', async () => {
      return diffLines(specText(first.specJson).trimEnd(), specText(second.specJson).trimEnd());
    });
    const amount = (kind: string) => lines.filter((line) => line.kind === kind).length;
    return {
      title: `${key}: ${from} to ${to}`,
      section: 'specs',
      trail: [
        ['Specs', '/console/specs'],
        [key, `/console/specs/${key}`],
      ],
      body: html`${heading(`${key}: ${from} to ${to}`, {
        about: `${counted(amount('added'), 'line')} added, ${counted(amount('removed'), 'line')} removed`,
      })}
        ${compareForm({ key, versions: newest.rows, from, to })}
        ${amount('added') + amount('removed') === 0 ? html`<div class="empty">${nothing('They are the same.')}</div>` : difference(nearChanges(lines))}`,
    };
  },
});

const signs = { same: ' ', removed: '−', added: '+' } as const;
const spoken = { same: '', removed: 'removed: ', added: 'added: ' } as const;

const shownMax = 5000;

const difference = (lines: readonly ShownLine[]): Html =>
  html`<div class="diff" tabindex="0" role="region" aria-label="Difference">${lines
    .slice(0, shownMax)
    .map((line) =>
      line.kind === 'gap'
        ? html`<div class="gap">${counted(line.lines, 'equal line')}</div>`
        : html`<div class="${line.kind}"><span aria-hidden="true">${signs[line.kind]}</span><span class="unseen">${spoken[line.kind]}</span><code>${line.text}</code></div>`,
    )}</div>${lines.length > shownMax ? html`<p class="hint">Cut after ${shownMax.toLocaleString('en')} lines.</p>` : ''}`;
