import * as v from 'valibot';
import { findSpecVersion, listSpecs } from '../../../../db/queries/specs.ts';
import { nameParam } from '../../../api/inputs.ts';
import { found, notFound } from '../../../core/errors.ts';
import { SpecKey } from '../../../core/json/property-names.ts';
import type { SpecRow } from '../../../core/resources/spec.ts';
import { SpecVersion } from '../../../core/spec/schema/spec-schema.ts';
import { select } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { diffLines, nearChanges, type ShownLine } from '../../parts/line-diff.ts';
import { counted } from '../../parts/numbers.ts';
import { specText } from '../../parts/spec-text.ts';
import { versionBadge } from '../../parts/status.ts';
import { nothing, section, table } from '../../parts/table.ts';
import { page } from '../../route.ts';

/** The key and the version of a spec in a path; other forms are not found. */
export const VersionParams = v.object({
  key: nameParam(SpecKey, { noun: 'Spec version', example: 'acme-crm' }),
  version: nameParam(SpecVersion, { noun: 'Spec version', example: '1.0.0' }),
});
const KeyParams = v.object({ key: nameParam(SpecKey, { noun: 'Spec', example: 'acme-crm' }) });

/** The address of a version. */
export const versionPath = (key: string, version: string): string => `/console/specs/${key}/${version}`;

/** The specs of the org with their versions. */
export const specsPage = page({
  path: '/specs',
  handle: async ({ scope }, { db }) => {
    const specs = await listSpecs(db, scope);
    return {
      title: 'Specs',
      section: 'specs',
      body: html`${heading('Specs', {
        about: 'Descriptions of APIs: how each is read, and where its records go.',
        actions: html`<a class="button primary" href="/console/new-spec">New spec</a>`,
      })}
        ${table({
          caption: 'Specs',
          rows: specs,
          empty: nothing(
            'No spec yet.',
            html`<a href="/console/new-spec">Write the first one</a>, or start from a ready connector: <code>GET /api/v1/catalogue</code>.`,
          ),
          columns: [
            { head: 'Spec', cell: ({ key }) => html`<a class="strong" href="/console/specs/${key}">${key}</a>` },
            {
              head: 'Versions',
              kind: 'wide',
              cell: ({ key, versions }) =>
                html`<ul class="versions">${versions
                  .slice(0, 6)
                  .map(
                    ({ version, status }) =>
                      html`<li><a href="${versionPath(key, version)}">${version}</a> ${versionBadge(status)}</li>`,
                  )}${versions.length > 6 ? html`<li><a href="/console/specs/${key}">and ${versions.length - 6} more</a></li>` : ''}</ul>`,
            },
          ],
        })}`,
    };
  },
});

/** The versions of one spec. */
export const specPage = page({
  path: '/specs/:key',
  params: KeyParams,
  handle: async ({ scope, params: { key } }, { db }) => {
    const spec = found(
      (await listSpecs(db, scope)).find((one) => one.key === key),
      'Spec',
    );
    const { versions } = spec;
    return {
      title: `Spec ${key}`,
      section: 'specs',
      trail: [['Specs', '/console/specs']],
      body: html`${heading(key, { about: counted(versions.length, 'version') })}
        ${table({
          caption: 'Versions',
          rows: versions,
          empty: null,
          columns: [
            {
              head: 'Version',
              cell: ({ version }) => html`<a class="strong" href="${versionPath(key, version)}">${version}</a>`,
            },
            { head: 'Status', kind: 'wide', cell: ({ status }) => versionBadge(status) },
          ],
        })}
        ${versions.length > 1 ? section('Compare two versions', compareForm(spec, versions[1]?.version, versions[0]?.version)) : ''}`,
    };
  },
});

const compareForm = ({ key, versions }: SpecRow, from: string | undefined, to: string | undefined): Html => {
  const options = versions.map(({ version }) => [version, version] as const);
  return html`<form method="get" action="/console/specs/${key}/compare" class="filters">
    ${select({ name: 'from', label: 'From', value: from, options })}
    ${select({ name: 'to', label: 'To', value: to, options })}
    <button>Compare</button></form>`;
};

const VersionQuery = v.pipe(
  v.string(),
  v.check((value) => v.is(SpecVersion, value), 'expected a version such as 1.0.0'),
);

/** What differs between two versions, line by line. */
export const comparePage = page({
  path: '/specs/:key/compare',
  params: KeyParams,
  query: v.object({ from: VersionQuery, to: VersionQuery }),
  handle: async ({ scope, params: { key }, query: { from, to } }, { db, costly }) => {
    const [first, second, specs] = await Promise.all([
      findSpecVersion(db, scope, { key, version: from }),
      findSpecVersion(db, scope, { key, version: to }),
      listSpecs(db, scope),
    ]);
    const spec = specs.find((one) => one.key === key);
    if (!first || !second || !spec) throw notFound('Spec version');
    const lines = await costly.run(scope.orgId, 'side_by_side', async () => {
      const [before, after] = [specText(first.specJson).trimEnd(), specText(second.specJson).trimEnd()];
      return diffLines(before, after);
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
        ${compareForm(spec, from, to)}
        ${amount('added') + amount('removed') === 0 ? html`<div class="empty">${nothing('They are the same.')}</div>` : difference(nearChanges(lines))}`,
    };
  },
});

const signs = { same: ' ', removed: '−', added: '+' } as const;
const spoken = { same: '', removed: 'removed: ', added: 'added: ' } as const;

/** Lines of a difference that the page shows. */
const shownMax = 5000;

const difference = (lines: readonly ShownLine[]): Html =>
  html`<div class="diff" tabindex="0" role="region" aria-label="Difference">${lines
    .slice(0, shownMax)
    .map((line) =>
      line.kind === 'gap'
        ? html`<div class="gap">${counted(line.lines, 'equal line')}</div>`
        : html`<div class="${line.kind}"><span aria-hidden="true">${signs[line.kind]}</span><span class="unseen">${spoken[line.kind]}</span><code>${line.text}</code></div>`,
    )}</div>${lines.length > shownMax ? html`<p class="hint">Cut after ${shownMax.toLocaleString('en')} lines.</p>` : ''}`;
