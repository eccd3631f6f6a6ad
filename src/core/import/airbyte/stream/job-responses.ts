import { isJsonObject } from '../../../is-json-object.ts';
import { step } from '../jinja/value.ts';
import { refuse } from '../refusal.ts';
import type { RequestDraft } from './request-draft.ts';

const responsePath = (name: string): RegExp => new RegExp(`\\b${name}\\b((?:\\.(?:[A-Za-z_]\\w*|\`[^\`]+\`))*)`, 'g');

/** The requests of a job. */
interface Drafts {
  readonly create: RequestDraft;
  readonly poll: RequestDraft;
  readonly request: RequestDraft;
}

/** The parts of earlier responses that requests use, as the id and the values of a job. */
export function withResponses(
  drafts: Drafts,
  hasTarget: boolean,
  path: string,
): Drafts & { readonly id: string; readonly values: Readonly<Record<string, string>> } {
  const later = [drafts.poll, drafts.request];
  const ids = new Set(textsOf(later).flatMap((text) => pathsOf(text, 'creation_response')));
  if (ids.size > 1) refuse(path, 'requests use several values of the response that creates a job; one is its id');
  const names = new Map<string, string>();
  for (const found of textsOf([drafts.request]).flatMap((text) => pathsOf(text, 'polling_response'))) {
    if (!names.has(found)) names.set(found, `polled_${names.size + 1}`);
  }
  const usesTarget = textsOf([drafts.request]).some((text) => /\bdownload_target\b/.test(text));
  if (hasTarget && !usesTarget) refuse(path, 'the request for the file does not use its address');
  const replaced = (text: string): string =>
    text
      .replaceAll(responsePath('creation_response'), 'job.id')
      .replaceAll(responsePath('polling_response'), (_whole, found: string) => `job.${names.get(found) ?? ''}`)
      .replaceAll(/\bdownload_target\b/g, 'job.part');
  const codeOf = (found: string): string => {
    if (found === '' || found.startsWith('.request')) return refuse(path, 'only a field of a response can be used');
    const header = /^\.headers\.`?([\w-]+)`?$/.exec(found)?.[1];
    return header === undefined ? `body${found}` : `headers.${step(header.toLowerCase()) ?? ''}`;
  };
  const [id] = ids;
  return {
    create: drafts.create,
    poll: mapped(drafts.poll, replaced),
    request: mapped(drafts.request, replaced),
    id: id === undefined ? '"job"' : codeOf(id),
    values: Object.fromEntries([...names].map(([found, name]) => [name, codeOf(found)])),
  };
}

const pathsOf = (text: string, name: string): readonly string[] =>
  [...text.matchAll(responsePath(name))].map(([, found = '']) => found);

/** The expressions of a request: what stands in braces. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return value.match(holes) ?? [];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

const holes = /\{\{.*?\}\}/gs;

function mapped<T>(value: T, replaced: (text: string) => string): T;
function mapped(value: unknown, replaced: (text: string) => string): unknown {
  if (typeof value === 'string') return value.replaceAll(holes, replaced);
  if (Array.isArray(value)) return value.map((item) => mapped(item, replaced));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapped(item, replaced)]));
}
