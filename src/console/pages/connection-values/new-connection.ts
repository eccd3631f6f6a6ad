import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { firstRows } from '../../../../db/listing.ts';
import { listWorkspaces } from '../../../../db/queries/orgs/workspaces.ts';
import { findSpecsPage, findSpecVersion } from '../../../../db/queries/specs.ts';
import { NewConnection } from '../../../api/connection-body.ts';
import { statusOf } from '../../../api/errors.ts';
import { respondOnce } from '../../../api/gates/idempotency.ts';
import { checkBody } from '../../../api/inputs.ts';
import { createConnection } from '../../../control/connections/connections.ts';
import { refuseUnlessPublished } from '../../../control/specs/upgrade.ts';
import { digestOf } from '../../../core/crypto/digest.ts';
import { AppError, found, schemaIssue } from '../../../core/errors.ts';
import { checkDocument } from '../../../core/json/body-document.ts';
import { canonicalJson } from '../../../core/json/canonical-json.ts';
import type { ConnectionRow } from '../../../core/resources/connection.ts';
import type { WorkspaceRow } from '../../../core/resources/workspace.ts';
import { destinationRefusal } from '../../../core/spec/connection/default-place.ts';
import { storedSpec } from '../../../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec } from '../../../core/spec/schema/spec-schema.ts';
import type { FormFields } from '../../form-body.ts';
import { form, select } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Html, html } from '../../parts/html.ts';
import { before, pageFrom, pager } from '../../parts/pager.ts';
import { facts, nothing, table } from '../../parts/table.ts';
import { action, type ConsoleDeps, page, type View, type Visit } from '../../route.ts';
import { filterText } from '../filters.ts';
import { isSpecVersion } from '../specs/spec-names.ts';
import { versionPath } from '../specs/specs.ts';
import { type FilledIn, lostSecrets, nameFields, namesIn, textOf, valueFields } from './connection-fields.ts';
import { errorAt, issueSummary, issuesIn, nameLabels } from './found-issues.ts';
import { sentValues, textIn } from './sent-values.ts';

const title = 'Create a connection';
const trail = [['Connections', '/console/connections']] as const;

/** Without a spec in its address, the choice of one. */
export const newConnectionPage = page({
  path: '/new-connection',
  query: v.object({ ...before('spec'), spec: filterText, version: filterText }),
  handle: async (visit, deps) => {
    const { spec, version, ...list } = visit.query;
    if (spec === undefined || version === undefined) return choiceView(visit, deps, pageFrom(list));
    return formView(visit, await subjectNamed(visit, deps, { spec, version }), { fields: {}, issues: [] });
  },
});

const versionsShown = 6;

async function choiceView(visit: Visit, { db }: ConsoleDeps, request: ReturnType<typeof pageFrom>): Promise<View> {
  const specs = await findSpecsPage(db, visit.scope, { ...request, versionsMax: versionsShown, status: 'published' });
  const link = (spec: string, version: string) =>
    `/console/new-connection?${new URLSearchParams({ spec, version }).toString()}`;
  return {
    title,
    section: 'connections',
    trail,
    body: html`${heading(title, {
      about: 'Choose the spec of the API that it reads.',
      actions: html`<a class="button" href="/console/catalogue">Add one from the catalogue</a>`,
    })}
      ${table({
        caption: 'Specs',
        rows: specs.rows,
        empty: nothing(
          'No spec yet.',
          html`<a href="/console/catalogue">Take a ready connector</a>, or <a href="/console/new-spec">write a spec</a>.`,
        ),
        columns: [
          { head: 'Spec', cell: ({ key }) => html`<span class="strong">${key}</span>` },
          {
            head: 'Published versions',
            kind: 'wide',
            cell: (spec) => {
              const [first, ...others] = spec.versions;
              if (!first)
                return html`<span class="muted">none:</span> <a href="/console/specs/${spec.key}">publish one first</a>`;
              return html`<ul class="versions"><li>${first.version}</li>${others.map(({ version }) => html`<li><a href="${link(spec.key, version)}">${version}</a></li>`)}</ul>`;
            },
          },
          {
            head: 'Actions',
            kind: 'acts',
            cell: (spec) => {
              const [first] = spec.versions;
              return first
                ? html`<a class="button" href="${link(spec.key, first.version)}" aria-label="Choose ${spec.key} ${first.version}">Choose</a>`
                : null;
            },
          },
        ],
      })}
      ${pager(specs, visit.address)}`,
  };
}

interface Subject {
  readonly key: string;
  readonly version: string;
  readonly spec: ConnectorSpec | null;
  readonly workspaces: readonly WorkspaceRow[];
  /** Why no connection of it can be created, as text for people; `null`: it can. */
  readonly refusal: string | null;
}

/** An org has no more by default. */
const workspacesMax = 100;

/** Throws not_found. */
async function subjectNamed(
  { scope }: Visit,
  { db, defaultDestination }: ConsoleDeps,
  { spec: key, version }: { readonly spec: string; readonly version: string },
): Promise<Subject> {
  const row = found(
    isSpecVersion({ key, version }) && (await findSpecVersion(db, scope, { key, version })),
    'Spec version',
  );
  const workspaces = await firstRows(await listWorkspaces(db, scope), workspacesMax);
  const checked = storedSpec(row.specJson, null);
  return {
    key,
    version,
    workspaces,
    spec: checked.valid ? checked.spec : null,
    refusal: refusalOf(() => {
      refuseUnlessPublished(row);
      return checked.valid
        ? destinationRefusal(checked.spec, defaultDestination)
        : 'The published version breaks the current rules: publish a new version.';
    }),
  };
}

function refusalOf(check: () => string | null): string | null {
  try {
    return check();
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

function formView(visit: Visit, subject: Subject, filled: FilledIn): View {
  const { key, version, spec, refusal } = subject;
  return {
    title,
    section: 'connections',
    trail,
    ...(filled.issues.length > 0 && { status: statusOf.validation }),
    body: html`${heading(title, { about: html`Spec <a href="${versionPath(key, version)}">${key} ${version}</a>` })}
      ${
        spec === null || refusal !== null
          ? html`<div class="notice bad"><p>${refusal}</p></div><p><a class="button" href="${versionPath(key, version)}">To the spec</a></p>`
          : connectionForm(visit, { ...subject, spec }, filled)
      }`,
  };
}

function connectionForm(
  visit: Visit,
  { key, version, spec, workspaces }: Subject & { readonly spec: ConnectorSpec },
  filled: FilledIn,
): Html {
  const { connectionParams } = spec;
  const defaults = Object.fromEntries(connectionParams.map((param) => [param.key, param.default]));
  const names = { ...filled, stored: { errorAfterMinutes: 0 } };
  return form(visit, { action: '/console/connections', class: 'stack wide-fields' }, [
    html`<input type="hidden" name="${formIdField}" value="${randomUUID()}"><input type="hidden" name="specKey" value="${key}"><input type="hidden" name="specVersion" value="${version}">`,
    filled.issues.length > 0
      ? html`<div role="alert" class="wide">${issueSummary(filled.issues, connectionParams)}</div>`
      : null,
    lostSecrets(connectionParams, filled.fields),
    facts([
      ['Reads', spec.resources.map((resource) => resource.key).join(', ')],
      ['Delivers to', placeWords(spec)],
    ]),
    nameFields(
      names,
      select({
        name: 'workspaceId',
        label: nameLabels['workspaceId'] ?? '',
        value: textOf(names, 'workspaceId'),
        error: errorAt(filled.issues, 'workspaceId'),
        required: true,
        options: [['', 'Choose one'], ...workspaces.map(({ id, name, kind }) => [id, `${name} (${kind})`] as const)],
      }),
    ),
    valueFields(connectionParams, { ...filled, stored: defaults, isStored: false }),
    spec.auth.kind === 'oauth2_authorization_code'
      ? html`<p class="hint">Afterwards the customer authorizes it: your program asks <code>GET /api/v1/oauth/:connectionId/authorize</code> for the address.</p>`
      : null,
    html`<button class="primary">Create the connection</button>`,
  ]);
}

const kinds = { postgres: 'PostgreSQL', sqlserver: 'SQL Server', webhook: 'A webhook' } as const;

const placeWords = ({ destination }: ConnectorSpec): string =>
  destination ? kinds[destination.kind] : 'The default destination of this deployment';

/** The form shows what does not fit. Throws not_found (spec, workspace), 413. */
export const addConnection = action({
  path: '/connections',
  form: v.looseObject({ specKey: v.string(), specVersion: v.string() }),
  handle: async (visit, deps) => {
    const fields = visit.form as FormFields & typeof visit.form;
    const subject = await subjectNamed(visit, deps, { spec: fields.specKey, version: fields.specVersion });
    const refusal = subject.refusal ?? '';
    if (subject.spec === null || refusal !== '')
      return formView(visit, subject, { fields, issues: [schemaIssue('', refusal)] });
    try {
      const body = newConnection(subject.spec, fields);
      const id = await createOnce(visit, deps, { body, formId: textIn(fields, formIdField) });
      return { to: `/console/connections/${id}`, notice: 'connection-created' };
    } catch (error) {
      return formView(visit, subject, { fields, issues: issuesIn(error) });
    }
  },
});

/** Name of the field with the id of a form that was shown. */
const formIdField = 'formId';

interface Creation {
  readonly body: v.InferOutput<typeof NewConnection>;
  /** Empty: nothing tells a repetition. */
  readonly formId: string;
}

/** The same values of the same form make one connection; its id. */
async function createOnce({ scope }: Visit, deps: ConsoleDeps, { body, formId }: Creation): Promise<string> {
  if (formId === '') return (await createConnection(deps, scope, body)).id;
  const request = {
    method: 'POST',
    path: '/console/connections',
    key: digestOf(formId + deps.secretBox.fingerprint(canonicalJson(body))),
    document: body,
    status: 303,
    repeated: 'same_response',
  } as const;
  const { json } = await respondOnce(deps, scope, request, (saveResponse) =>
    createConnection({ ...deps, saveResponse }, scope, body),
  );
  return (JSON.parse(json) as Pick<ConnectionRow, 'id'>).id;
}

/** Throws a validation error. */
function newConnection({ connectionParams }: ConnectorSpec, fields: FormFields): v.InferOutput<typeof NewConnection> {
  const { issues, params, secrets } = sentValues(connectionParams, fields);
  if (issues.length > 0) throw new AppError('validation', 'Some values are not readable.', { issues });
  const body = {
    workspaceId: textIn(fields, 'workspaceId'),
    specKey: textIn(fields, 'specKey'),
    specVersion: textIn(fields, 'specVersion'),
    ...namesIn(fields),
    params,
    secrets,
  };
  checkDocument(body);
  return checkBody(NewConnection, body);
}
