import * as v from 'valibot';
import type { OrgScope } from '../../../db/scope.ts';
import { requireValidKey } from '../../api/auth.ts';
import { boundedList } from '../../api/bounded-list.ts';
import { toErrorResponse } from '../../api/errors.ts';
import { bodyId } from '../../api/inputs.ts';
import type { IdPrefix } from '../../core/ids.ts';
import { form } from '../parts/form.ts';
import { heading } from '../parts/frame.ts';
import { type Content, type Html, html } from '../parts/html.ts';
import { counted } from '../parts/numbers.ts';
import { pageRows } from '../parts/pager.ts';
import { badge } from '../parts/status.ts';
import { type Column, table } from '../parts/table.ts';
import { action, type ConsoleDeps, type ConsoleRoute, type Section, type View, type Visit } from '../route.ts';
import { withinConsole } from '../within-console.ts';

interface Act {
  readonly label: string;
  /** The question that the script asks first. */
  readonly confirm?: string;
  /** A key of `parts/notices.ts`: shown when it worked for all. */
  readonly notice: string;
  /** Parts of an object that are acted on one by one; absent: it is acted on as a whole. */
  readonly parts?: {
    readonly noun: string;
    of(this: void, deps: ConsoleDeps, scope: OrgScope, id: string): Promise<readonly string[]>;
  };
  /** The function behind the API's route for one object; `part` is empty for the whole. `false`: nothing was to be done. */
  run(this: void, deps: ConsoleDeps, scope: OrgScope, id: string, part: string): Promise<unknown>;
}

interface SelectionOptions {
  readonly path: string;
  readonly prefix: IdPrefix;
  readonly noun: string;
  /** Its pages have the addresses of the objects. */
  readonly section: Section;
  readonly acts: Readonly<Record<string, Act>>;
  /** Names of the objects; those without one are named by their id. */
  readonly namesOf?: (
    deps: ConsoleDeps,
    scope: OrgScope,
    ids: readonly string[],
  ) => Promise<ReadonlyMap<string, string>>;
}

/** Rows of a list that are selected, and what is done with all of them. */
interface Selection extends ConsoleRoute {
  /** Around the table whose first column is {@link column}. */
  form(this: void, visit: Pick<Visit, 'session' | 'address'>, content: Content): Html;
  column<Row extends { readonly id: string }>(this: void, nameOf: (row: Row) => Content): Column<Row>;
}

interface Failure {
  readonly id: string;
  /** Empty: the object as a whole. */
  readonly part: string;
  readonly reason: string;
}

/**
 * At most a page of objects, one after the other; each act counts as a request of the API, and needs a valid key. It goes on after one that fails, and
 * says which and why; a single one fails as by its own button.
 */
export function selection({ path, prefix, noun, section, acts, namesOf }: SelectionOptions): Selection {
  const route = action({
    path,
    form: v.object({
      act: v.picklist(Object.keys(acts)),
      ids: v.pipe(v.optional(boundedList(bodyId(prefix), pageRows), []), v.minLength(1, `select at least one ${noun}`)),
      back: v.optional(v.string(), ''),
    }),
    handle: async ({ form: { act: name, ids, back }, ...visit }, deps) => {
      const act = acts[name] as Act;
      const { notice, label, parts } = act;
      const to = withinConsole(back);
      const all = [...new Set(ids)];
      const { failures, done, changed } = await actOnEach(visit, deps, { act, ids: all });
      if (failures.length === 0) return { to, notice, count: parts ? all.length : changed };
      const ofFailures = failures.map(({ id }) => id);
      const names = (await namesOf?.(deps, visit.scope, ofFailures)) ?? new Map<string, string>();
      return resultView({ label, section, noun: parts?.noun ?? noun, failures, names, to, done });
    },
  });
  return {
    ...route,
    form: (visit, content) =>
      form(visit, { action: `/console${path}` }, [
        html`<input type="hidden" name="back" value="${visit.address}">`,
        html`<div class="toolbar"><label class="check scripted"><input type="checkbox" data-all="ids[]"> Select all on this page</label>
          <div class="actions" role="group" aria-label="With the selected">${Object.entries(acts).map(
            ([name, { label, confirm = '' }]) =>
              html`<button name="act" value="${name}"${confirm ? html` data-confirm="${confirm}"` : ''}>${label}</button>`,
          )}</div></div>`,
        content,
      ]),
    column: (nameOf) => ({
      head: 'Select',
      kind: 'select',
      cell: (row) => html`<input type="checkbox" name="ids[]" value="${row.id}" aria-label="Select ${nameOf(row)}">`,
    }),
  };
}

async function actOnEach(
  { scope, caller, session, requestId }: Visit,
  deps: ConsoleDeps,
  { act: { run, parts }, ids }: { readonly act: Act; readonly ids: readonly string[] },
) {
  const failures: Failure[] = [];
  let [asked, done, changed] = [0, 0, 0];
  const attempt = async <Done>(of: Omit<Failure, 'reason'>, isOnly: boolean, work: () => Promise<Done>) => {
    try {
      return await work();
    } catch (error) {
      if (isOnly) throw error;
      const { body, unexpected } = toErrorResponse(error, requestId);
      if (unexpected) deps.log.error('request failed', { requestId, error });
      failures.push({ ...of, reason: body.error.message });
      return [];
    }
  };
  for (const id of ids) {
    const isOnly = ids.length === 1;
    const keys = await attempt({ id, part: '' }, isOnly, async () => parts?.of(deps, scope, id) ?? ['']);
    for (const part of keys) {
      await attempt({ id, part }, isOnly && keys.length === 1, async () => {
        asked += 1;
        // The first is the request itself.
        if (asked > 1) {
          await requireValidKey(deps, session.lookupId);
          await deps.limits?.countRequest(caller.keyId);
        }
        if ((await run(deps, scope, id, part)) !== false) changed += 1;
        done += 1;
      });
    }
  }
  return { failures, done, changed };
}

interface Result extends Pick<SelectionOptions, 'section' | 'noun'> {
  readonly label: string;
  readonly failures: readonly Failure[];
  readonly names: ReadonlyMap<string, string>;
  readonly to: string;
  readonly done: number;
}

function resultView({ label, section, noun, failures, names, to, done }: Result): View {
  const total = done + failures.length;
  return {
    title: label,
    section,
    body: html`${heading(label, {
      state: done === 0 ? badge('bad', 'None worked') : badge('warn', `${done} of ${counted(total, noun)} worked`),
    })}
      ${table({
        caption: 'Not done',
        rows: failures,
        empty: null,
        columns: [
          {
            head: 'Not done',
            cell: ({ id, part }) =>
              html`<a href="/console/${section}/${id}">${names.get(id) ?? html`<code>${id}</code>`}</a>${part === '' ? '' : html` · ${part}`}`,
          },
          { head: 'Why', cell: ({ reason }) => reason },
        ],
      })}
      <p class="hint">Reloading this page does it again for all that were selected: go back instead.</p>
      <p class="after"><a class="button primary" href="${to}">Back to the list</a></p>`,
  };
}
