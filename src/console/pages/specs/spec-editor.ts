import * as v from 'valibot';
import { findSpecVersion, findVersionsPage } from '../../../../db/queries/specs.ts';
import { HttpRejection, statusOf } from '../../../api/errors.ts';
import { readYamlText, withPlaces } from '../../../api/gates/yaml-body.ts';
import { createDraft, previewTransform, replaceDraft, validateSpec } from '../../../control/specs/specs.ts';
import { AppError, found, type Issue, schemaIssue } from '../../../core/errors.ts';
import { JsonObject } from '../../../core/json/json-object.ts';
import { json } from '../../parts/code.ts';
import { codeEditor, gutterId, placedIssues } from '../../parts/code-editor.ts';
import { issueList } from '../../parts/failure.ts';
import { tokenField } from '../../parts/form.ts';
import { heading } from '../../parts/frame.ts';
import { type Content, type Html, html } from '../../parts/html.ts';
import { counted } from '../../parts/numbers.ts';
import { pageFrom } from '../../parts/pager.ts';
import { specText } from '../../parts/spec-text.ts';
import { section } from '../../parts/table.ts';
import { action, page, type View, type Visit } from '../../route.ts';
import { filterText } from '../filters.ts';
import { exampleSpec } from './example-spec.ts';
import { isSpecVersion, nextVersion, specKeyIn } from './spec-names.ts';
import { VersionParams, versionPath } from './specs.ts';

interface Edited {
  readonly text: string;
  /** Absent for a new draft. */
  readonly key?: string | undefined;
  readonly version?: string | undefined;
  readonly result?: Result;
}

interface Result {
  readonly content: Content;
  /** Lines with an issue, from 1. */
  readonly marked: readonly number[];
}

/** The script checks the document while it is typed; without it a button does. */
export function editor(visit: Visit, { text, key, version, result }: Edited): Html {
  const isDraft = key !== undefined && version !== undefined;
  return html`<form method="post" action="${isDraft ? versionPath(key, version) : '/console/specs'}" class="stack" data-check="/console/check-spec" data-result="result ${gutterId}">
    ${tokenField(visit)}
    ${isDraft ? html`<input type="hidden" name="key" value="${key}"><input type="hidden" name="version" value="${version}">` : ''}
    ${codeEditor({ name: 'document', label: 'YAML or JSON', text, marked: result?.marked ?? [], describedBy: 'result' })}
    <div id="result" role="status" class="wide">${result?.content}</div>
    <div class="actions"><button class="primary">${isDraft ? 'Save the draft' : 'Create the draft'}</button>
    <button formaction="/console/check-spec#result">Check it</button></div>
  </form>`;
}

const editorView = (visit: Visit, edited: Edited, { status = 200, ...head }: EditorHead = {}): View => {
  const title = head.title ?? (edited.key === undefined ? 'New spec' : `${edited.key} ${edited.version ?? ''}`);
  return {
    title,
    section: 'specs',
    trail: [['Specs', '/console/specs']],
    status,
    body: html`${heading(title, { about: head.about ?? null })}${editor(visit, edited)}`,
  };
};

interface EditorHead {
  readonly status?: View['status'];
  readonly title?: string;
  readonly about?: string;
}

/** With `from` and `version` the next version of that one. */
export const newSpec = page({
  path: '/new-spec',
  query: v.object({ from: filterText, version: filterText }),
  handle: async (visit, { db, costly }) => {
    const { from, version } = visit.query;
    if (from === undefined || version === undefined) return editorView(visit, { text: exampleSpec });
    const isName = isSpecVersion({ key: from, version });
    const row = found(isName && (await findSpecVersion(db, visit.scope, { key: from, version })), 'Spec version');
    const { rows: newest } = await findVersionsPage(db, visit.scope, from, pageFrom({}));
    const next = nextVersion([version, ...newest.map((one) => one.version)]);
    const document = { ...row.specJson, metadata: { ...Object(row.specJson['metadata']), version: next } };
    const text = await costly.run(visit.scope.orgId, 'side_by_side', async () => specText(document));
    return editorView(visit, { text }, { title: `${from} ${next}`, about: `Begins with the text of ${version}.` });
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
    const result = await checkedResult(text, async () => {
      const document = readYamlText(text);
      const key = draft.key ?? specKeyIn(document.value);
      const checked = await deps.costly.run(visit.scope.orgId, 'side_by_side', () =>
        withPlaces(document, () => validateSpec(deps, visit.scope, { document: document.value, key })),
      );
      return checked.valid
        ? { content: html`<p class="notice good">The spec is valid, and its tests succeed.</p>`, marked: [] }
        : issuesResult(text, checked.issues);
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
  const result = await checkedResult(text, async () => {
    const document = readYamlText(text);
    done = await withPlaces(document, () => save(document.value));
    return { content: null, marked: [] };
  });
  return done ?? editorView(visit, { text, ...draft, result }, { status: statusOf.validation });
}

/** Turns mistakes in a document into a result; other failures are thrown. */
async function checkedResult(text: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { message, issues } = mistakesOf(error);
    if (issues) return issuesResult(text, issues);
    const line = /\(line (\d+) column \d+\)/.exec(message)?.[1];
    if (line === undefined) return { content: html`<p class="notice bad">${message}</p>`, marked: [] };
    return issuesResult(text, [{ ...schemaIssue('', message), line: Number(line) }]);
  }
}

const issuesResult = (text: string, issues: readonly Issue[]): Result => ({
  content: placedIssues(text, issues),
  marked: issues.flatMap(({ line }) => line ?? []),
});

/** Throws what is no mistake in a document. */
function mistakesOf(error: unknown): { readonly message: string; readonly issues: readonly Issue[] | undefined } {
  if (error instanceof HttpRejection && error.status === statusOf.validation)
    return { message: error.message, issues: undefined };
  if (error instanceof AppError && (error.code === 'validation' || error.code === 'conflict')) return error;
  throw error;
}

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
    const result = await previewed(async () => {
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

async function previewed(work: () => Promise<Content>): Promise<Content> {
  try {
    return await work();
  } catch (error) {
    const { message, issues } = mistakesOf(error);
    if (!issues) return html`<p class="notice bad">${message}</p>`;
    return html`<p class="notice bad">${counted(issues.length, 'issue')} to correct.</p>${issueList(issues)}`;
  }
}
