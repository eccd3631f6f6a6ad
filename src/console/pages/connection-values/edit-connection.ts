import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { findConnection } from '../../../../db/queries/connections/connections.ts';
import { findPinnedSpec } from '../../../../db/queries/specs.ts';
import { ConnectionChange } from '../../../api/connection-body.ts';
import { statusOf } from '../../../api/errors.ts';
import { checkBody } from '../../../api/inputs.ts';
import { updateConnection } from '../../../control/connections/update.ts';
import { digestOf } from '../../../core/crypto/digest.ts';
import { AppError, found, type Issue, invalid, schemaIssue } from '../../../core/errors.ts';
import { checkDocument } from '../../../core/json/body-document.ts';
import { canonicalJson } from '../../../core/json/canonical-json.ts';
import type { ConnectionRow, ConnectionUpdate } from '../../../core/resources/connection.ts';
import { storedSpec } from '../../../core/spec/connection/stored-spec.ts';
import type { ConnectorSpec } from '../../../core/spec/schema/spec-schema.ts';
import type { FormFields } from '../../form-body.ts';
import { tokenField } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Content, html } from '../../parts/html.ts';
import { action, type ConsoleDeps, page, type View, type Visit } from '../../route.ts';
import { ConnectionParams } from '../connection-frame.ts';
import { specKeyIn } from '../specs/spec-names.ts';
import { versionPath } from '../specs/specs.ts';
import { allowDeletesField, changePlan } from './change-plan.ts';
import { type FilledIn, lostSecrets, nameFields, namesIn, valueFields } from './connection-fields.ts';
import { issueSummary, issuesIn } from './found-issues.ts';
import { isAsShown, sentValues, textIn } from './sent-values.ts';

/** Params and secrets of a connection, names too. Secrets can only be replaced. */
export const editPage = page({
  path: '/connections/:id/edit',
  params: ConnectionParams,
  handle: async (visit, deps) => {
    const subject = await subjectOf(visit, deps, visit.params.id);
    return editView(visit, subject, { fields: {}, issues: [], result: null });
  },
});

interface Subject {
  readonly connection: ConnectionRow;
  readonly specKey: string;
  /** Empty if the spec breaks the current rules: its values cannot be changed here. */
  readonly connectionParams: ConnectorSpec['connectionParams'];
  readonly isValid: boolean;
}

/** Throws not_found. */
async function subjectOf({ scope }: Visit, { db }: ConsoleDeps, id: string): Promise<Subject> {
  const connection = found(await findConnection(db, scope, id), 'Connection');
  const { specJson } = found(await findPinnedSpec(db, scope, id), 'Pinned spec version');
  const checked = storedSpec(specJson, connection.specOverridesJson);
  return {
    connection,
    specKey: specKeyIn(specJson),
    connectionParams: checked.valid ? checked.spec.connectionParams : [],
    isValid: checked.valid,
  };
}

const namesOf = ({ displayName, externalCustomerId, errorAfterMinutes }: ConnectionRow) => ({
  displayName,
  externalCustomerId: externalCustomerId ?? '',
  errorAfterMinutes,
});

/** Name of the field with the digest of the values that the form began with. */
const shownField = 'shown';

function shownDigest({ connection }: Subject): string {
  const { paramsJson, specId, pinnedSpecVersion, specOverridesJson } = connection;
  return digestOf(canonicalJson([namesOf(connection), paramsJson, specId, pinnedSpecVersion, specOverridesJson]));
}

interface Filled extends FilledIn {
  readonly result: Content;
}

function editView(visit: Visit, subject: Subject, { result, ...filled }: Filled): View {
  const { connection, specKey, connectionParams, isValid } = subject;
  const { id, displayName, paramsJson, pinnedSpecVersion } = connection;
  const path = `/console/connections/${id}`;
  const version = html`<a href="${versionPath(specKey, pinnedSpecVersion)}">${specKey} ${pinnedSpecVersion}</a>`;
  return {
    title: `Edit ${displayName}`,
    section: 'connections',
    trail: [
      ['Connections', '/console/connections'],
      [displayName, path],
    ],
    ...(filled.issues.length > 0 && { status: statusOf.validation }),
    body: html`${heading('Edit', { about: html`${displayName}, of ${version}` })}
      ${isValid ? '' : html`<div class="notice bad"><p>Version ${pinnedSpecVersion} of its spec breaks the current rules, so its values cannot be changed: upgrade the connection to another version.</p></div>`}
      <form method="post" action="${path}/edit#result" class="stack wide-fields" data-check="${path}/check-edit" data-result="result">
        ${tokenField(visit)}<input type="hidden" name="${shownField}" value="${textIn(filled.fields, shownField) || shownDigest(subject)}">
        ${nameFields({ ...filled, stored: namesOf(connection) })}
        ${valueFields(connectionParams, { ...filled, stored: paramsJson, isStored: true })}
        ${lostSecrets(connectionParams, filled.fields)}
        <div id="result" role="status" class="wide">${result}</div>
        <div class="actions"><button class="primary">Save</button>
        <button formaction="${path}/check-edit#result">Show what happens</button>
        <a class="button" href="${path}/settings">Cancel</a></div>
      </form>`,
  };
}

const Sent = v.looseObject({});

/** Saves nothing. Throws not_found, 429. */
export const checkEdit = action({
  path: '/connections/:id/check-edit',
  params: ConnectionParams,
  form: Sent,
  handle: async (visit, deps) => {
    const fields = visit.form as FormFields;
    const subject = await subjectOf(visit, deps, visit.params.id);
    try {
      const planned = await plan(visit, deps, { subject, fields });
      if (planned.issues.length > 0) return editView(visit, subject, refused(subject, fields, planned.issues));
      return editView(visit, subject, { fields, issues: [], result: changePlan(planned) });
    } catch (error) {
      return editView(visit, subject, refused(subject, fields, issuesIn(error)));
    }
  },
});

/** The form shows what does not fit, and what has to be agreed to. Throws not_found, 429. */
export const saveEdit = action({
  path: '/connections/:id/edit',
  params: ConnectionParams,
  form: Sent,
  handle: async (visit, deps) => {
    const fields = visit.form as FormFields;
    const subject = await subjectOf(visit, deps, visit.params.id);
    const isTicked = textIn(fields, allowDeletesField) !== '';
    try {
      const allowDeletes = isTicked && (await plan(visit, deps, { subject, fields })).agreed;
      await change(visit, deps, { subject, fields, dryRun: false, allowDeletes });
      return { to: `/console/connections/${subject.connection.id}/settings`, notice: 'connection-changed' };
    } catch (error) {
      const issues = issuesIn(error);
      const planned = isConflict(error) ? await plan(visit, deps, { subject, fields }) : null;
      const first = planned && planned.issues.length > 0 ? planned.issues : issues;
      if (!planned?.plan?.resources.some(({ mayDelete }) => mayDelete) || first !== issues)
        return editView(visit, subject, refused(subject, fields, first));
      const result = [
        html`<p class="notice bad">Nothing was saved: later runs may delete rows. Agree to that, then save.</p>`,
        changePlan(planned),
      ];
      return { ...editView(visit, subject, { fields, issues: [], result }), status: statusOf.validation };
    }
  },
});

const isConflict = (error: unknown): boolean => error instanceof AppError && error.code === 'conflict';

const refused = (subject: Subject, fields: FormFields, issues: readonly Issue[]): Filled => ({
  fields,
  issues,
  result: issueSummary(issues, subject.connectionParams),
});

interface Change {
  readonly subject: Subject;
  readonly fields: FormFields;
  readonly dryRun: boolean;
  readonly allowDeletes: boolean;
}

/** Throws as {@link change} does. */
async function plan(visit: Visit, deps: ConsoleDeps, { subject, fields }: Pick<Change, 'subject' | 'fields'>) {
  const { plan: planned } = await change(visit, deps, { subject, fields, dryRun: true, allowDeletes: false });
  const { params } = sentValues(subject.connectionParams, fields, subject.connection.paramsJson);
  const consent = digestOf(canonicalJson([planned?.resources ?? [], params]));
  const agreed = textIn(fields, allowDeletesField) === consent;
  return { plan: planned, issues: planned?.issues ?? [], consent, agreed };
}

/** Sends only values that change. Throws validation (also for a form of older values), conflict (rows may be deleted), not_found. */
async function change(
  { scope }: Visit,
  deps: ConsoleDeps,
  { subject, fields, dryRun, allowDeletes }: Change,
): Promise<ConnectionUpdate> {
  const { connection, connectionParams } = subject;
  if (textIn(fields, shownField) !== shownDigest(subject)) throw stale();
  const { issues, params, secrets } = sentValues(connectionParams, fields, connection.paramsJson);
  if (issues.length > 0) throw new AppError('validation', 'Some values are not readable.', { issues });
  const body = {
    ...changedNames(connection, fields),
    ...(subject.isValid && !isDeepStrictEqual(params, connection.paramsJson) && { params }),
    ...(Object.keys(secrets).length > 0 && { secrets }),
    dryRun,
    allowDeletes,
  };
  checkDocument(body);
  const checked = checkBody(ConnectionChange, body);
  return deps.costly.run(scope.orgId, 'one_by_one', () =>
    updateConnection(deps, scope, { ...checked, id: connection.id }),
  );
}

const staleWords = 'The connection was changed after this form was opened. Nothing was saved: open the form again.';
const stale = (): AppError => invalid(staleWords, [schemaIssue('', staleWords)]);

function changedNames(connection: ConnectionRow, fields: FormFields): object {
  const shown: Readonly<Record<string, unknown>> = namesOf(connection);
  return Object.fromEntries(
    Object.entries(namesIn(fields)).filter(([name]) => !isAsShown(textIn(fields, name), shown[name])),
  );
}
