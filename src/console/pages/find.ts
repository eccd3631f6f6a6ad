import * as v from 'valibot';
import { firstRows } from '../../../db/listing.ts';
import { findConnection, findConnectionsPage } from '../../../db/queries/connections/connections.ts';
import { findHook } from '../../../db/queries/hooks/hooks.ts';
import { askedLanesMax, findRecordsByKey } from '../../../db/queries/runs/records/found-records.ts';
import { findQuarantined } from '../../../db/queries/runs/records/quarantine.ts';
import { findRun } from '../../../db/queries/runs/runs.ts';
import { findSpecsByKey } from '../../../db/queries/specs.ts';
import { findDelivery } from '../../../db/queries/webhooks/deliveries.ts';
import { findEndpoint, listEndpoints } from '../../../db/queries/webhooks/endpoints.ts';
import type { OrgScope } from '../../../db/scope.ts';
import { QueryText } from '../../api/query-inputs.ts';
import { isId } from '../../core/ids.ts';
import { heading } from '../parts/frame.ts';
import { type Html, html } from '../parts/html.ts';
import { count } from '../parts/numbers.ts';
import { pageRows } from '../parts/pager.ts';
import { connectionWords, runWords } from '../parts/status.ts';
import { nothing, section } from '../parts/table.ts';
import { type ConsoleDeps, page } from '../route.ts';
import { recordAddress } from './record.ts';

/** One thing that was found. */
interface Hit {
  readonly label: string;
  readonly about: string;
  readonly href: string;
}

/** Things of one kind; never empty. */
interface Group {
  readonly name: string;
  readonly hits: readonly Hit[];
}

/** Of one kind. */
const hitsMax = 8;
const charsMax = 500;

const FindQuery = v.object({
  q: v.optional(v.pipe(QueryText, v.trim(), v.maxLength(charsMax, `is longer than ${charsMax} characters`)), ''),
});

/** Things of the org by names and ids; links and forms do without the script. */
export const findPage = page({
  path: '/find',
  query: FindQuery,
  handle: async ({ scope, query: { q } }, deps) => {
    const groups = await find(deps, scope, q);
    return {
      title: 'Find',
      section: null,
      body: html`${heading('Find', { about: 'Connections by name or id of the customer, specs and records by key, endpoints by URL or description. Also runs, quarantined records, deliveries and hooks by their ids.' })}
        ${q === '' ? '' : results(q, groups)}`,
    };
  },
});

/** The same for the script. */
export const findResults = page({
  path: '/find-results',
  query: FindQuery,
  handle: async ({ scope, query: { q } }, deps) => ({ json: await find(deps, scope, q) }),
});

const results = (q: string, groups: readonly Group[]): Html =>
  groups.length === 0
    ? html`<div class="empty">${nothing(`Nothing is found for “${q}”.`, `Names are found by any part of them; ids and keys of records as a whole. A record is looked for in the newest ${count(askedLanesMax)} resources of connections.`)}</div>`
    : html`${groups.map(({ name, hits }) =>
        section(
          name,
          html`<ul class="lines">${hits.map(
            ({ label, about, href }) =>
              html`<li><a href="${href}">${label}</a><span class="muted">${about}</span></li>`,
          )}</ul>`,
        ),
      )}`;

async function find(deps: Pick<ConsoleDeps, 'db'>, scope: OrgScope, q: string): Promise<readonly Group[]> {
  if (q === '') return [];
  const byId = await findById(deps, scope, q);
  if (byId !== null) return byId.hits.length === 0 ? [] : [byId];
  const groups = await Promise.all([
    connections(deps, scope, q),
    specs(deps, scope, q),
    endpoints(deps, scope, q),
    records(deps, scope, q),
  ]);
  return groups.filter(({ hits }) => hits.length > 0);
}

/** `null` if the text is no id of something with a page. */
async function findById({ db }: Pick<ConsoleDeps, 'db'>, scope: OrgScope, id: string): Promise<Group | null> {
  if (isId('con', id)) {
    const connection = await findConnection(db, scope, id);
    return group(
      'Connections',
      'connections',
      id,
      connection && [connection.displayName, connectionWords(connection.status)],
    );
  }
  if (isId('run', id)) {
    const run = await findRun(db, scope, id);
    return group('Runs', 'runs', id, run && [`Run of ${run.resourceKey}`, runWords(run.status)]);
  }
  if (isId('quar', id)) {
    const record = await findQuarantined(db, scope, id);
    return group('Quarantine', 'quarantine', id, record && [`Record ${record.externalId}`, record.resourceKey]);
  }
  if (isId('whe', id)) {
    const endpoint = await findEndpoint(db, scope, id);
    return group('Endpoints', 'endpoints', id, endpoint && [endpoint.url, endpoint.state]);
  }
  if (isId('whd', id)) {
    const delivery = await findDelivery(db, scope, id);
    return group('Deliveries', 'deliveries', id, delivery && [delivery.eventType, delivery.url]);
  }
  if (isId('hook', id)) {
    const hook = await findHook(db, scope, id);
    return group('Hooks', 'hooks', id, hook && ['Hook', hook.resourceKeys.join(', ')]);
  }
  return null;
}

const group = (
  name: string,
  folder: string,
  id: string,
  words: readonly [label: string, about: string] | undefined,
): Group => ({
  name,
  hits: words ? [{ label: words[0], about: words[1], href: `/console/${folder}/${id}` }] : [],
});

async function connections({ db }: Pick<ConsoleDeps, 'db'>, scope: OrgScope, text: string): Promise<Group> {
  const { rows } = await findConnectionsPage(db, scope, { text }, { before: null, limit: hitsMax });
  return {
    name: 'Connections',
    hits: rows.map(({ id, displayName, externalCustomerId, specKey, status }) => ({
      label: displayName,
      about: [...(externalCustomerId === null ? [] : [externalCustomerId]), specKey, connectionWords(status)].join(
        ' · ',
      ),
      href: `/console/connections/${id}`,
    })),
  };
}

async function specs({ db }: Pick<ConsoleDeps, 'db'>, scope: OrgScope, text: string): Promise<Group> {
  const rows = await findSpecsByKey(db, scope, { text, limit: hitsMax });
  return { name: 'Specs', hits: rows.map(({ key }) => ({ label: key, about: 'Spec', href: `/console/specs/${key}` })) };
}

async function endpoints({ db }: Pick<ConsoleDeps, 'db'>, scope: OrgScope, text: string): Promise<Group> {
  const words = text.toLowerCase();
  const all = await firstRows(await listEndpoints(db, scope), pageRows);
  const named = all.filter(({ url, description }) =>
    [url, description ?? ''].some((one) => one.toLowerCase().includes(words)),
  );
  return {
    name: 'Endpoints',
    hits: named.slice(0, hitsMax).map(({ id, url, description, state }) => ({
      label: url,
      about: description ?? state,
      href: `/console/endpoints/${id}`,
    })),
  };
}

async function records({ db }: Pick<ConsoleDeps, 'db'>, scope: OrgScope, externalId: string): Promise<Group> {
  const rows = await findRecordsByKey(db, scope, { externalId, limit: hitsMax });
  return {
    name: 'Records',
    hits: rows.map(({ connectionId, resourceKey, displayName, status }) => ({
      label: externalId,
      about: `${resourceKey} of ${displayName} · ${status}`,
      href: recordAddress(connectionId, resourceKey, externalId),
    })),
  };
}
