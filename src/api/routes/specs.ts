import * as v from 'valibot';
import { findSpecVersion, listSpecs, listSpecVersions } from '../../../db/queries/specs.ts';
import { importSpec } from '../../control/specs/import-spec.ts';
import {
  createDraft,
  deleteDraft,
  deprecateVersion,
  previewTransform,
  publishVersion,
  replaceDraft,
  validateSpec,
} from '../../control/specs/specs.ts';
import { found, notFound } from '../../core/errors.ts';
import { importFormats } from '../../core/import/import.ts';
import { JsonObject } from '../../core/json/json-object.ts';
import { SpecKey } from '../../core/json/property-names.ts';
import { SpecImport, SpecRow, SpecVersionRow, ValidationResult } from '../../core/resources/spec.ts';
import { Deleted, deleted } from '../../core/resources/values.ts';
import { SpecVersion } from '../../core/spec/schema/spec-schema.ts';
import { nameParam } from '../inputs.ts';
import { ResponseWithHeaders } from '../response-headers.ts';
import { route } from '../route.ts';

const noun = 'Spec version';
const keyParam = (of: string) => nameParam(SpecKey, { noun: of, example: 'acme-crm' });
const KeyParams = v.object({ key: keyParam('Spec') });
const VersionParams = v.object({
  key: keyParam(noun),
  version: nameParam(SpecVersion, { noun, example: '1.0.0' }),
});
/** Any JSON: the validation of specs reports its issues. */
const CandidateSpec = v.unknown();
const tag = 'specs';

const exampleSpec = {
  metadata: { key: 'acme-crm', name: 'Acme CRM', version: '1.0.0' },
  connectionParams: [
    { key: 'token', type: 'string', secret: true },
    { key: 'databaseUrl', type: 'string', secret: true },
  ],
  auth: { kind: 'bearer', token: '{{ secrets.token }}' },
  http: { baseUrl: 'https://api.acme.example' },
  resources: [
    {
      key: 'contacts',
      primaryKey: ['id'],
      request: { path: '/contacts', query: { updated_since: '{{ window.from }}' } },
      response: { records: 'data' },
      incremental: { kind: 'cursor', cursor: { field: 'updated_at', type: 'datetime' }, order: 'asc' },
      target: { table: 'contacts' },
    },
  ],
  destination: { kind: 'postgres', url: '{{ secrets.databaseUrl }}' },
};

const importExample = {
  format: 'openapi',
  document: {
    openapi: '3.1.0',
    info: { title: 'Acme CRM', version: '1' },
    paths: {
      '/users': {
        get: {
          responses: {
            200: {
              content: {
                'application/json': { schema: { type: 'array', items: { properties: { id: { type: 'string' } } } } },
              },
            },
          },
        },
      },
    },
  },
};

export const specRoutes = [
  route({
    method: 'post',
    path: '/specs',
    summary: 'Create a draft of a spec version',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    body: CandidateSpec,
    bodyName: 'ConnectorSpec',
    yaml: true,
    bodyExample: exampleSpec,
    status: 201,
    response: SpecVersionRow,
    errors: ['conflict'],
    repeated: 'same_response',
    handle: ({ scope, body }, deps) => createDraft(deps, scope, body),
  }),
  route({
    method: 'post',
    path: '/specs/:key/validate',
    summary: 'Validate a spec without saving it',
    description:
      'An invalid spec is a result, not an error: 200 with `valid: false` and every issue. When the rest is valid, ' +
      'the tests in the spec run, each for at most 5 s and all of them for 30 s, against their mocks alone.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    params: v.object({ key: v.pipe(v.string(), v.examples(['acme-crm'])) }),
    body: CandidateSpec,
    bodyName: 'ConnectorSpec',
    yaml: true,
    bodyExample: exampleSpec,
    status: 200,
    response: ValidationResult,
    errors: [],
    whenInvalid: (issues) => ({ valid: false, issues }),
    handle: ({ scope, params, body }, deps) => validateSpec(deps, scope, { key: params.key, document: body }),
  }),
  route({
    method: 'post',
    path: '/specs/:key/versions/:version/publish',
    summary: 'Publish a draft so that connections can pin to it',
    description: 'Rejected with the issues while a test in the spec fails. A published version never changes.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    params: VersionParams,
    status: 200,
    response: SpecVersionRow,
    errors: ['validation', 'not_found', 'conflict'],
    handle: ({ scope, params }, deps) => publishVersion(deps, scope, params),
  }),
  route({
    method: 'post',
    path: '/specs/import',
    summary: 'Convert a document of another format into a draft',
    description:
      'Nothing is saved. What is guessed is named in the draft: read it before you create it. ' +
      'A body has at most 1 MiB, a document 100,000 values; `css import` reads larger ones from a file.',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    body: v.object({
      format: v.picklist(importFormats),
      document: v.pipe(
        v.union([v.string(), JsonObject], 'expected an object or a text'),
        v.description('Itself, or its text as JSON or YAML.'),
      ),
      key: v.pipe(v.nullish(SpecKey), v.description('Of the spec; null: from the title.')),
    }),
    longTexts: true,
    bodyExample: importExample,
    status: 200,
    response: SpecImport,
    errors: [],
    handle: ({ body }) => importSpec(body),
  }),
  route({
    method: 'post',
    path: '/specs/transform-preview',
    summary: 'Run a transform expression over one record',
    tag,
    auth: 'api_key',
    costly: 'side_by_side',
    body: v.object({
      expression: v.pipe(v.string(), v.minLength(1), v.description('JSONata.')),
      record: JsonObject,
      lookups: v.nullish(v.pipe(JsonObject, v.description('Named lookup tables, available as `$lookups.<name>`.')), {}),
    }),
    bodyExample: {
      expression: '{ "id": id, "country": $lookup($lookups.countries, country) }',
      record: { id: 7, country: 'DE' },
      lookups: { countries: { DE: 'Germany' } },
    },
    status: 200,
    response: JsonObject,
    headers: {
      'X-Expression-Engine': {
        description:
          '`compiled`: the service evaluates the expression itself. `interpreted`: JSONata evaluated it, or some fields of it, in a separate process, about ten times slower.',
        values: ['compiled', 'interpreted'],
      },
    },
    errors: [],
    handle: async ({ scope, body }, deps) => {
      const { row, engine } = await previewTransform(deps, scope, body);
      return new ResponseWithHeaders(row, { 'X-Expression-Engine': engine });
    },
  }),
  route({
    method: 'get',
    path: '/specs',
    summary: 'List the specs with their versions',
    tag,
    auth: 'api_key',
    status: 200,
    response: v.array(SpecRow),
    errors: [],
    handle: ({ scope }, { db }) => listSpecs(db, scope),
  }),
  route({
    method: 'get',
    path: '/specs/:key/versions',
    summary: 'List the versions of a spec',
    tag,
    auth: 'api_key',
    params: KeyParams,
    status: 200,
    response: v.array(SpecVersionRow),
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => {
      const versions = await listSpecVersions(db, scope, params.key);
      if (versions.total === 0) throw notFound('Spec');
      return versions;
    },
  }),
  route({
    method: 'get',
    path: '/specs/:key/versions/:version',
    summary: 'Read a spec version',
    tag,
    auth: 'api_key',
    params: VersionParams,
    status: 200,
    response: SpecVersionRow,
    errors: ['not_found'],
    handle: async ({ scope, params }, { db }) => found(await findSpecVersion(db, scope, params), noun),
  }),
  route({
    method: 'put',
    path: '/specs/:key/versions/:version',
    summary: 'Replace the document of a draft',
    tag,
    auth: 'api_key',
    params: VersionParams,
    body: CandidateSpec,
    bodyName: 'ConnectorSpec',
    yaml: true,
    bodyExample: exampleSpec,
    status: 200,
    response: SpecVersionRow,
    errors: ['not_found', 'immutable', 'conflict'],
    handle: ({ scope, params, body }, deps) => replaceDraft(deps, scope, { ...params, document: body }),
  }),
  route({
    method: 'delete',
    path: '/specs/:key/versions/:version',
    summary: 'Delete a draft',
    tag,
    auth: 'api_key',
    params: VersionParams,
    status: 200,
    response: Deleted,
    errors: ['not_found', 'immutable'],
    handle: ({ scope, params }, deps) => deleteDraft(deps, scope, params).then(deleted),
  }),
  route({
    method: 'post',
    path: '/specs/:key/versions/:version/deprecate',
    summary: 'Close a published version to new connections',
    description:
      'Connections pinned to it continue; new ones and upgrades to it are rejected. Repeating the request changes nothing.',
    tag,
    auth: 'api_key',
    params: VersionParams,
    status: 200,
    response: SpecVersionRow,
    errors: ['not_found', 'conflict'],
    handle: ({ scope, params }, deps) => deprecateVersion(deps, scope, params),
  }),
];
