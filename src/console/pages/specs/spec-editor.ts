import * as v from 'valibot';
import { findSpecVersion } from '../../../../db/queries/specs.ts';
import { HttpRejection, statusOf } from '../../../api/errors.ts';
import { readYamlText, withPlaces } from '../../../api/gates/yaml-body.ts';
import { createDraft, previewTransform, replaceDraft, validateSpec } from '../../../control/specs/specs.ts';
import { AppError, found, type Issue } from '../../../core/errors.ts';
import { JsonObject } from '../../../core/json/json-object.ts';
import { json } from '../../parts/code.ts';
import { issueList } from '../../parts/failure.ts';
import { tokenField } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { counted } from '../../parts/numbers.ts';
import { specText } from '../../parts/spec-text.ts';
import { section } from '../../parts/table.ts';
import { action, page, type View, type Visit } from '../../route.ts';
import { filterText } from '../filters.ts';
import { exampleSpec } from './example-spec.ts';
import { isSpecVersion, specKeyIn } from './spec-names.ts';
import { VersionParams, versionPath } from './specs.ts';

interface Edited {
  readonly text: string;
  /** Absent for a new draft. */
  readonly key?: string | undefined;
  readonly version?: string | undefined;
  readonly result?: Content;
}

/** The script checks the document while it is typed; without it a button does. */
export function editor(visit: Visit, { text, key, version, result = null }: Edited): Html {
  const isDraft = key !== undefined && version !== undefined;
  return html`<form method="post" action="${isDraft ? versionPath(key, version) : '/console/specs'}" class="stack" data-check="/console/check-spec" data-result="result">
    ${tokenField(visit)}
    ${isDraft ? html`<input type="hidden" name="key" value="${key}"><input type="hidden" name="version" value="${version}">` : ''}
    <div class="field wide"><label for="document">YAML or JSON</label>
    <textarea id="document" name="document" rows="${Math.min(26, Math.max(14, text.split('\n').length + 1))}" spellcheck="false" aria-describedby="result">${text}</textarea></div>
    <div id="result" role="status" class="wide">${result}</div>
    <div class="actions"><button class="primary">${isDraft ? 'Save the draft' : 'Create the draft'}</button>
    <button formaction="/console/check-spec">Check it</button></div>
  </form>`;
}

const editorView = (visit: Visit, edited: Edited, status: View['status'] = 200): View => ({
  title: edited.key === undefined ? 'New spec' : `${edited.key} ${edited.version ?? ''}`,
  section: 'specs',
  trail: [['Specs', '/console/specs']],
  status,
  body: html`${heading(edited.key === undefined ? 'New spec' : `${edited.key} ${edited.version ?? ''}`)}${editor(visit, edited)}`,
});

export const newSpec = page({
  path: '/new-spec',
  query: v.object({ from: filterText, version: filterText }),
  handle: async (visit, { db, costly }) => {
    const { from, version } = visit.query;
    if (from === undefined || version === undefined) return editorView(visit, { text: exampleSpec });
    const isName = isSpecVersion({ key: from, version });
    const row = found(isName && (await findSpecVersion(db, visit.scope, { key: from, version })), 'Spec version');
    const text = await costly.run(visit.scope.orgId, 'side_by_side', async () => specText(row.specJson));
    return editorView(visit, { text });
  },
});

const Document = v.object({
  document: v.string(),
  key: v.optional(v.string()),
  version: v.optional(v.string()),
});

/** Saves nothing. */
export const checkSpec = action({
  path: '/check-spec',
  form: Document,
  handle: async (visit, deps) => {
    const { document: text, ...draft } = visit.form;
    const result = await orIssues(async () => {
      const document = readYamlText(text);
      const key = draft.key ?? specKeyIn(document.value);
      const checked = await deps.costly.run(visit.scope.orgId, 'side_by_side', () =>
        withPlaces(document, () => validateSpec(deps, visit.scope, { document: document.value, key })),
      );
      return checked.valid
        ? html`<p class="notice good">The spec is valid, and its tests succeed.</p>`
        : wrong(checked.issues);
    });
    return editorView(visit, { text, ...draft, result });
  },
});

/** The editor shows issues, an existing version and a reached limit. Throws 429. */
export const addDraft = action({
  path: '/specs',
  form: Document,
  handle: (visit, deps) =>
    saved(visit, async (document) => {
      const row = await deps.costly.run(visit.scope.orgId, 'side_by_side', () =>
        createDraft(deps, visit.scope, document),
      );
      return { to: versionPath(specKeyIn(row.specJson), row.version), notice: 'draft-created' };
    }),
});

/** The editor shows issues. Throws not_found, immutable, 429. */
export const saveDraft = action({
  path: '/specs/:key/:version',
  params: VersionParams,
  form: Document,
  handle: async (visit, deps) => {
    const { scope, params } = visit;
    found(await findSpecVersion(deps.db, scope, params), 'Spec version');
    return saved({ ...visit, form: { ...visit.form, ...params } }, async (document) => {
      await deps.costly.run(scope.orgId, 'side_by_side', () => replaceDraft(deps, scope, { ...params, document }));
      return { to: versionPath(params.key, params.version), notice: 'draft-saved' };
    });
  },
});

type Submitted = Visit & { readonly form: v.InferOutput<typeof Document> };

async function saved<Done>(visit: Submitted, save: (document: unknown) => Promise<Done>): Promise<Done | View> {
  const { document: text, ...draft } = visit.form;
  let done: Done | undefined;
  const result = await orIssues(async () => {
    const document = readYamlText(text);
    done = await withPlaces(document, () => save(document.value));
    return null;
  });
  return done ?? editorView(visit, { text, ...draft, result }, statusOf.validation);
}

/** Turns issues of a document into content; other failures are thrown. */
async function orIssues(work: () => Promise<Content>): Promise<Content> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof HttpRejection && error.status === statusOf.validation)
      return html`<p class="notice bad">${error.message}</p>`;
    if (error instanceof AppError && (error.code === 'validation' || error.code === 'conflict')) {
      return error.issues === undefined ? html`<p class="notice bad">${error.message}</p>` : wrong(error.issues);
    }
    throw error;
  }
}

const wrong = (issues: readonly Issue[]): Html =>
  html`<p class="notice bad">${counted(issues.length, 'issue')} to correct.</p>${issueList(issues)}`;

interface Previewed {
  readonly expression: string;
  readonly record?: string;
  readonly result?: Content;
}

const exampleRecord = '{ "id": "c_81", "email": "Mara@Example.com", "address": { "city": "Leeds", "country": "gb" } }';

export const previewForm = (
  visit: Visit,
  { expression, record = exampleRecord, result = null }: Previewed,
): Html => html`
  <form method="post" action="/console/preview-transform" class="stack" data-check="/console/preview-transform" data-result="preview">
    ${tokenField(visit)}
    <div class="pair">
      <div class="field"><label for="expression">Transform (JSONata)</label>
      <textarea id="expression" name="expression" rows="7" spellcheck="false">${expression}</textarea></div>
      <div class="field"><label for="record">Record (JSON)</label>
      <textarea id="record" name="record" rows="7" spellcheck="false">${record}</textarea></div>
    </div>
    <div class="actions"><button>Try it</button></div>
    <div id="preview" role="status" class="wide">${result}</div>
  </form>`;

/** Throws 429. */
export const previewOne = action({
  path: '/preview-transform',
  form: v.object({ expression: v.string(), record: v.string() }),
  handle: async (visit, deps) => {
    const { expression, record } = visit.form;
    const result = await orIssues(async () => {
      const { value } = readYamlText(record);
      if (expression.trim() === '') throw new AppError('validation', 'The expression is empty.');
      if (!v.is(JsonObject, value)) throw new AppError('validation', 'The record must be an object.');
      const { row, engine } = await deps.costly.run(visit.scope.orgId, 'side_by_side', () =>
        previewTransform(deps, visit.scope, { expression, record: value, lookups: {} }),
      );
      const speed =
        engine === 'compiled'
          ? 'Compiled: as fast as code.'
          : 'Interpreted: about ten times slower than a plain mapping.';
      return [json(row, 'What the transform makes of it'), html`<p class="hint">${speed}</p>`];
    });
    return {
      title: 'Try a transform',
      section: 'specs',
      trail: [['Specs', '/console/specs']],
      body: html`${heading('Try a transform')}${section('Transform', previewForm(visit, { expression, record, result }))}`,
    };
  },
});
