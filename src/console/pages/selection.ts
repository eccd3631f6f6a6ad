import * as v from 'valibot';
import type { OrgScope } from '../../../db/scope.ts';
import { boundedList } from '../../api/bounded-list.ts';
import { bodyId } from '../../api/inputs.ts';
import { AppError } from '../../core/errors.ts';
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
  /** The function behind the API's route for one object; throws `AppError`. */
  run(this: void, deps: ConsoleDeps, scope: OrgScope, id: string): Promise<unknown>;
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
  readonly reason: string;
}

/**
 * At most a page of objects, one after the other, as if the API were called for each. It goes on after one that is refused, and
 * says which and why; a single one is refused as by its own button.
 */
export function selection({ path, prefix, noun, section, acts, namesOf }: SelectionOptions): Selection {
  const route = action({
    path,
    form: v.object({
      act: v.picklist(Object.keys(acts)),
      ids: v.pipe(v.optional(boundedList(bodyId(prefix), pageRows), []), v.minLength(1, `select at least one ${noun}`)),
      back: v.optional(v.string(), ''),
    }),
    handle: async ({ scope, form: { act, ids, back } }, deps) => {
      const { run, notice, label } = acts[act] as Act;
      const to = withinConsole(back);
      const all = [...new Set(ids)];
      const failures: Failure[] = [];
      for (const id of all) {
        try {
          await run(deps, scope, id);
        } catch (error) {
          if (!(error instanceof AppError) || all.length === 1) throw error;
          failures.push({ id, reason: error.message });
        }
      }
      if (failures.length === 0) return { to, notice, count: all.length };
      const ofFailures = failures.map(({ id }) => id);
      const names = (await namesOf?.(deps, scope, ofFailures)) ?? new Map<string, string>();
      return resultView({ label, section, noun, failures, names, to, done: all.length - failures.length });
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
            cell: ({ id }) =>
              html`<a href="/console/${section}/${id}">${names.get(id) ?? html`<code>${id}</code>`}</a>`,
          },
          { head: 'Why', cell: ({ reason }) => reason },
        ],
      })}
      <p class="after"><a class="button primary" href="${to}">Back to the list</a></p>`,
  };
}
