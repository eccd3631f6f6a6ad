import { expect, it } from 'vitest';
import { checkSpec } from '../check/check.ts';
import { storedFieldsOf } from './stored-fields.ts';

const parent = { key: 'issues', primaryKey: 'id', request: { path: '/issues' } };
const dimension = { as: 'issue', resource: 'issues', from: 'store' };

/** What is kept of each issue for a resource below it. */
function keptFor(child: object, http: object = {}): unknown {
  const checked = checkSpec({
    metadata: { key: 't', name: 'T', version: '1.0.0' },
    http: { baseUrl: 'https://api.example.com', ...http },
    resources: [
      parent,
      { key: 'notes', primaryKey: 'id', forEach: [dimension], request: { path: '/notes' }, ...child },
    ],
  });
  if (!checked.valid) throw new Error(JSON.stringify(checked.issues));
  return storedFieldsOf(checked.spec, 'issues');
}

const request = (path: string) => ({ request: { path } });
const forEach = (parts: object) => ({ forEach: [{ ...dimension, ...parts }] });

it.each<[string, object, object | undefined, unknown]>([
  ['a path', request('/issues/{{ each.issue.number }}/notes'), undefined, ['number']],
  ['a field of a field', request('/{{ each . issue . owner.id }}'), undefined, ['owner']],
  ['the transform', { transform: '{ "id": id, "issue": $each.issue.id }' }, undefined, ['id']],
  ['an added field', { response: { addFields: { issue: 'each.issue.key' } } }, undefined, ['key']],
  ['`value`', forEach({ value: 'owner.id', when: 'open' }), undefined, ['open', 'owner', 'owner.id']],
  ['`when`', forEach({ when: 'comments > 0 and state = "open"' }), undefined, ['comments', 'state']],
  ['what all requests share', {}, { headers: { 'X-Repo': '{{ each.issue.repo }}' } }, ['repo']],
  ['nothing', {}, undefined, []],
  ['the whole record', { transform: '{ "id": id, "issue": $each.issue }' }, undefined, 'all'],
  ['a field by a name that is worked out', request('/{{ $lookup(each.issue, "a") }}'), undefined, 'all'],
  ['a quoted field', request('/{{ each.issue.`a b` }}'), undefined, 'all'],
  ['all of `each`', { transform: '{ "id": id, "of": $each }' }, undefined, 'all'],
  ['a condition over all', forEach({ when: '$exists($.id)' }), undefined, 'all'],
])('keeps of a parent what is referred to by %s', (_what, child, http, kept) => {
  expect(keptFor(child, http)).toEqual(kept);
});

it('keeps nothing for resources that read their parents live, or that have none', () => {
  expect(keptFor(forEach({ from: 'live' }))).toBeNull();
  expect(keptFor({ forEach: [] })).toBeNull();
});

it('keeps what any of several resources refers to', () => {
  const twice = {
    forEach: [
      { ...dimension, when: 'a' },
      { ...dimension, as: 'other', when: 'b' },
    ],
  };
  expect(keptFor(twice)).toEqual(['a', 'b']);
});
