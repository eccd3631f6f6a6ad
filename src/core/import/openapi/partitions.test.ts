import { describe, expect, it } from 'vitest';
import { documentOf, get, imported, item, list, object, query, refusalOf } from './openapi-fixture.ts';

const ids = (...names: readonly string[]) =>
  list(object(Object.fromEntries(names.map((name) => [name, { type: 'string' }]))));
const resourcesOf = (paths: Readonly<Record<string, unknown>>) => imported(documentOf(paths)).resources;

describe('a path with parameters', () => {
  it('is read for each record of the list before its parameter', () => {
    const paths = { '/projects/{project_id}/issues': get(list(item)), '/projects': get(list(item)) };
    const { projects_issues: issues } = resourcesOf(paths);
    expect(issues).toMatchObject({
      forEach: [{ as: 'project', resource: 'projects' }],
      request: { path: '/projects/{{ each.project.id }}/issues' },
      response: { addFields: { project_id: 'each.project.id' } },
      primaryKey: ['project_id', 'id'],
    });
  });

  it('is read for the records of a list that is itself read for each record of another', () => {
    const resources = resourcesOf({
      '/v1/orgs': get(ids('slug')),
      '/v1/orgs/{org}/teams': get(ids('id', 'slug')),
      '/v1/orgs/{org}/teams/{team_slug}/members': get(ids('id', 'org_slug')),
    });
    expect(resources['orgs_teams']).toMatchObject({ response: { addFields: { org: 'each.org.slug' } } });
    expect(resources['orgs_teams_members']).toMatchObject({
      forEach: [{ as: 'team', resource: 'orgs_teams' }],
      request: { path: '/v1/orgs/{{ each.team.org }}/teams/{{ each.team.slug }}/members' },
      response: { addFields: { org: 'each.team.org', team_slug: 'each.team.slug' } },
      primaryKey: ['org', 'team_slug', 'id'],
    });
  });

  it('keeps a field of the record that has the name of its parent', () => {
    const { projects_issues: issues } = resourcesOf({
      '/projects': get(list(item)),
      '/projects/{project_id}/issues': get(ids('id', 'project_id')),
    });
    expect(issues).toMatchObject({ primaryKey: ['parent_project_id', 'id'] });
    expect(Object.keys(issues.validate.schema.properties)).toEqual(['id', 'project_id', 'parent_project_id']);
  });

  it.each([
    ['no list has its values', { '/projects/{id}/issues': get(list(item)) }, 'project_id'],
    [
      'the records of that list have no such field',
      { '/users': get(ids('id', 'login')), '/users/{username}/repos': get(list(item)) },
      'username',
    ],
    [
      'it is only a part of a segment',
      { '/reports': get(list(item)), '/reports/r-{report_id}/rows': get(list(item)) },
      'report_id',
    ],
  ])('has it as a value of the connection where %s', (_, paths, key) => {
    const { spec } = imported(documentOf(paths));
    expect(spec.connectionParams).toMatchObject([{ key, type: 'string', required: false }]);
    expect(JSON.stringify(spec.resources)).toContain(`{{ params.${key} }}`);
  });

  it('shares a value of the connection with other paths, unless its name says too little', () => {
    const { spec } = imported(
      documentOf({
        '/repos/{owner}/issues': get(list(item)),
        '/repos/{owner}/pulls': get(list(item)),
        '/teams/{id}/members': get(list(item)),
        '/rooms/{id}/members': get(list(item)),
      }),
    );
    expect(spec.connectionParams.map(({ key }: { readonly key: string }) => key)).toEqual([
      'owner',
      'team_id',
      'room_id',
    ]);
  });

  it.each([
    ['/a b/things', /more than segments/],
    ['/things?x=1', /more than segments/],
    ['/a/../things', /more than segments/],
    ['/{{ secrets.token }}/things', /more than segments/],
    [`/${'a'.repeat(1001)}`, /longer than 1000 characters/],
    [`/a${'/{b}'.repeat(21)}`, /more than 20 parameters/],
  ])('is refused when it is no path: %s', (path, reason) => {
    expect(refusalOf(path, get(list(item))).reason).toMatch(reason);
  });

  it('is refused when the parameter is no single value', () => {
    const parameters = [{ name: 'ids', in: 'path', required: true, schema: { type: 'array', items: {} } }];
    expect(refusalOf('/things/{ids}/parts', get(list(item), { parameters })).reason).toMatch(
      /`ids` is no single value/,
    );
  });
});

describe('a parameter that a request requires', () => {
  it('has the value that the document gives, or one of the connection', () => {
    const parameters = [
      query('version', { default: 7 }, { required: true }),
      query('q', { type: 'string' }, { required: true, description: 'What to find' }),
      query('token', { default: '{{ secrets.token }}' }, { required: true }),
      { name: 'X-Tenant', in: 'header', required: true, schema: {} },
      query('page', { type: 'integer' }, { required: true }),
    ];
    const { spec, resources } = imported(documentOf({ '/things': get(list(item), { parameters }) }));
    expect(resources['things'].request).toMatchObject({
      query: { version: '7', q: '{{ params.q }}', token: '{{ params.token }}' },
      headers: { 'X-Tenant': '{{ params.X_Tenant }}' },
    });
    expect(spec.connectionParams).toMatchObject([
      { key: 'q', description: 'What to find' },
      { key: 'token' },
      { key: 'X_Tenant' },
    ]);
  });
});
