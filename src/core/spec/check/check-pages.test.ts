import { expect, it } from 'vitest';
import { changedSpec } from '../../../../test/support/sync/spec-documents.ts';
import type { Case } from '../../../../test/support/sync/structural-cases.ts';
import { codesAndPaths } from './check-fixture.ts';

const byPage = { kind: 'page', inject: { in: 'query', name: 'page' } };
const shrink = { when: { status: [500] }, min: 25 };
const sendingSize = { 'resources.0.request.query': { limit: '{{ page.size }}' } };

const sendingChunks = { 'resources.0.request.query': { fields: '{{ chunk.fields }}' } };

const job = {
  create: { method: 'POST', path: '/jobs' },
  id: 'body.id',
  poll: { path: '/jobs/{{ job.id }}' },
  status: 'body.status',
  completed: ['done'],
  failed: ['failed'],
};
const readingJob = { 'resources.0.job': job, 'resources.0.request.path': '/jobs/{{ job.id }}/rows' };

/** Rules of how pages are requested. */
const ofPages: readonly Case[] = [
  {
    rule: 'smaller pages of a size that nobody knows',
    changes: { ...sendingSize, 'resources.0.pagination': { ...byPage, shrink } },
    issues: ['schema resources.0.pagination.size'],
  },
  {
    rule: 'smaller pages that the request never asks for',
    changes: { 'resources.0.pagination': { ...byPage, size: 100, shrink } },
    issues: ['schema resources.0.pagination.shrink'],
  },
  {
    rule: 'page numbers that cannot be converted to the smallest size',
    changes: { ...sendingSize, 'resources.0.pagination': { ...byPage, size: 100, shrink: { ...shrink, min: 10 } } },
    issues: ['schema resources.0.pagination.shrink.min'],
  },
  {
    rule: 'smaller pages for no response',
    changes: { ...sendingSize, 'resources.0.pagination': { ...byPage, size: 100, shrink: { ...shrink, when: {} } } },
    issues: ['schema resources.0.pagination.shrink.when'],
  },
  {
    rule: 'smaller pages that are all overlap',
    changes: {
      ...sendingSize,
      'resources.0.pagination': { ...byPage, kind: 'offset', size: 100, overlap: 25, shrink },
    },
    issues: ['schema resources.0.pagination.shrink.min'],
  },
  {
    rule: 'smaller pages that are no smaller',
    changes: { ...sendingSize, 'resources.0.pagination': { ...byPage, size: 25, shrink } },
    issues: ['schema resources.0.pagination.shrink.min'],
  },
  {
    rule: 'smaller pages where the next page is an address with a size of its own',
    changes: { ...sendingSize, 'resources.0.pagination': { kind: 'next_url', next: 'body.n', size: 100, shrink } },
    issues: ['schema resources.0.pagination.shrink'],
  },
  {
    rule: 'chunks of fields without a limit',
    changes: { ...sendingChunks, 'resources.0.fieldChunks': { fields: ['a'] } },
    issues: ['schema resources.0.fieldChunks'],
  },
  {
    rule: 'chunks of fields that the request never sends',
    changes: { 'resources.0.fieldChunks': { fields: ['a'], size: 1 } },
    issues: ['schema resources.0.fieldChunks'],
  },
  {
    rule: 'chunks of fields where the next page is an address',
    changes: {
      ...sendingChunks,
      'resources.0.fieldChunks': { fields: ['a'], size: 1 },
      'resources.0.pagination': { kind: 'link_header' },
    },
    issues: ['schema resources.0.pagination.kind'],
  },
  {
    rule: 'chunks of fields of a page that is cached',
    changes: {
      ...sendingChunks,
      'resources.0.fieldChunks': { fields: ['a'], size: 1 },
      'resources.0.request.cache': { mode: 'conditional' },
    },
    issues: ['schema resources.0.request.cache.mode'],
  },
  {
    rule: 'chunks that may lack records, where only the first says how the read goes on',
    changes: {
      ...sendingChunks,
      'resources.0.fieldChunks': { fields: ['a'], size: 1, onMissing: 'keep' },
      'resources.0.pagination': byPage,
    },
    issues: ['schema resources.0.fieldChunks.onMissing'],
  },
  {
    rule: 'pages behind a field that several items can share',
    changes: {
      'resources.0.pagination': { kind: 'keyset', size: 10, field: 'rank', inject: { in: 'query', name: 'after' } },
    },
    issues: ['schema resources.0.pagination.field'],
  },
  {
    rule: 'a limit with which each run reads the same records',
    changes: { 'resources.0.limits': { maxRecords: 10 }, 'resources.0.incremental': undefined },
    issues: ['schema resources.0.limits.maxRecords'],
  },
  {
    rule: 'a limit of a first read that claims nothing before its end',
    changes: {
      'resources.0.limits': { maxRecords: 10 },
      'resources.0.incremental': { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' },
    },
    issues: ['schema resources.0.limits.maxRecords'],
  },
  ...[false, true].map((stable) => ({
    rule: `a limit of page numbers, which claim at the end of a list that may move: stable ${stable}`,
    changes: {
      'resources.0.limits': { maxRecords: 10 },
      'resources.0.pagination': { ...byPage, stable },
      'resources.0.incremental': {
        ...{ kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc', initial: '2025-01-01' },
      },
    },
    issues: stable ? [] : ['schema resources.0.limits.maxRecords'],
  })),
  ...[
    { missing: undefined, order: 'desc', isLost: true },
    { missing: 'include', order: 'desc', isLost: true },
    { missing: 'exclude', order: 'desc', isLost: false },
    { missing: 'fail', order: 'desc', isLost: false },
    { missing: undefined, order: 'none', isLost: false },
  ].map(({ missing, order, isLost }) => ({
    rule: `records without a cursor value (${missing}) behind the end of a read, order ${order}`,
    changes: {
      'resources.0.incremental': {
        ...{ kind: 'cursor', cursor: { field: 'at', type: 'datetime', missing }, order, clientFilter: true },
      },
    },
    issues: isLost ? ['schema resources.0.incremental.cursor.missing'] : [],
  })),
  ...[
    { parts: { filter: '$toMillis(publish_at) <= $millis()' }, issues: ['filter'] },
    { parts: { filter: 'day <= $substring($now(), 0, 10)' }, issues: ['filter'] },
    { parts: { deletes: { mode: 'flag', when: 'expires_at < $run.startedAt' } }, issues: ['deletes.when'] },
    {
      parts: { response: { records: 'data', addFields: { now: 'run.startedAt' } }, filter: 'publish_at <= now' },
      issues: ['filter'],
    },
    {
      parts: { response: { records: 'data', addFields: { read_at: 'run.startedAt' } }, filter: 'published' },
      issues: [],
    },
    { parts: { filter: 'now <= publish_at' }, issues: [] },
    { parts: { transform: "{ 'id': id, 'at': $now() }" }, issues: [] },
    { parts: { filter: 'at <= $now()', incremental: undefined }, issues: [] },
    {
      parts: {
        filter: 'at <= $now()',
        incremental: undefined,
        request: { path: '/items', cache: { mode: 'conditional' } },
      },
      issues: ['filter'],
    },
    {
      parts: {
        filter: 'at <= $now()',
        incremental: undefined,
        request: { path: '/items', cache: { mode: 'conditional' } },
        target: { mode: 'replace' },
      },
      issues: [],
    },
    ...[
      { map: "{ 'now': $now(), 'at': at }", isTold: true },
      { map: "$merge([$, { 'now': $now() }])", isTold: true },
      { map: "{ 'read_at': $now(), 'now': now, 'at': at }", isTold: false },
    ].map(({ map, isTold }) => ({
      parts: { response: { records: 'data', map }, filter: 'at <= now' },
      issues: isTold ? ['filter'] : [],
    })),
  ].map(({ parts, issues }) => ({
    rule: `a condition of the time where only changes are read: ${JSON.stringify(parts)}`,
    changes: Object.fromEntries(
      Object.entries({
        incremental: { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'none' },
        ...parts,
      }).map(([name, value]) => [`resources.0.${name}`, value]),
    ),
    issues: issues.map((path) => `schema resources.0.${path}`),
  })),
  {
    rule: 'a chunk of fields in a request that has none',
    changes: { 'resources.0.enrich': [{ assignTo: 'a', request: { path: '/{{ chunk.fields }}' } }] },
    issues: ['schema resources.0.enrich.0.request.path'],
  },
  {
    rule: 'a report that nobody reads',
    changes: { 'resources.0.job': job },
    issues: ['schema resources.0.job'],
  },
  {
    rule: 'a report of changes by token',
    changes: { ...readingJob, 'resources.0.incremental': { kind: 'token', next: 'body.t' } },
    issues: ['schema resources.0.incremental.kind'],
  },
  {
    rule: 'a response about a report that would be a page, and one by no condition',
    changes: {
      ...readingJob,
      'resources.0.job': {
        ...job,
        createErrors: [{ when: { status: [400] }, action: 'empty' }],
        pollErrors: [{ when: {}, action: 'fail' }],
      },
    },
    issues: ['schema resources.0.job.createErrors.0.action', 'schema resources.0.job.pollErrors.0.when'],
  },
  {
    rule: 'a report that is cached',
    changes: { ...readingJob, 'resources.0.request.cache': { mode: 'conditional' } },
    issues: ['schema resources.0.request.cache.mode'],
  },
  {
    rule: 'parents of a report that are read live',
    changes: {
      ...readingJob,
      'resources.1': {
        key: 'b',
        primaryKey: 'id',
        request: { path: '/b' },
        forEach: [{ as: 'a', resource: 'accounts' }],
      },
    },
    issues: ['schema resources.1.forEach.0.from'],
  },
  {
    rule: 'a request that reads the same for each part of a report',
    changes: { ...readingJob, 'resources.0.job': { ...job, parts: 'body.files' } },
    issues: ['schema resources.0.job.parts'],
  },
  {
    rule: 'an order over the parts of a report',
    changes: {
      ...readingJob,
      'resources.0.job': { ...job, parts: 'body.files' },
      'resources.0.request.path': '/files/{{ job.part }}',
      'resources.0.incremental': { kind: 'cursor', cursor: { field: 'at', type: 'datetime' }, order: 'asc' },
    },
    issues: ['schema resources.0.incremental.order'],
  },
  {
    rule: 'a request of a job without an address',
    changes: { ...readingJob, 'resources.0.job.poll': {} },
    issues: ['schema resources.0.job.poll.path'],
  },
];

it.each(ofPages)('the validator reports $rule, and nothing else', ({ changes, issues }) => {
  expect(codesAndPaths(changedSpec(changes))).toEqual(issues);
});
